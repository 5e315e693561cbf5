package io.kvrelay.engine.cbi1;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.engine.hash.Xxh3Scratch;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Checks frames against one format and shows their content in place.
 *
 * <p>Reusable and not thread safe: each {@link #decode} replaces the content of the one before.
 * Nothing is copied and nothing is allocated, whatever a frame claims; a frame that fails leaves
 * only {@link #error}. The frame's bytes must not change while they are shown.
 *
 * <p>A frame is read through two small arrays of this object: its first bytes, which hold every
 * field but images and words, and a piece of those at a time. Reading a buffer in place would save
 * that move, but see {@link io.kvrelay.engine.hash.Xxh3}. The array handles are plain memory
 * access: a decoder and the frame it shows belong to one thread.
 *
 * <p>What is not checked here is the consumer's to check, on every frame: the data center, the
 * relation of sequences, empty deltas and repeated buckets.
 */
public final class Cbi1Decoder {
  private static final VarHandle SHORTS = view(short[].class);
  private static final VarHandle INTS = view(int[].class);
  private static final VarHandle LONGS = view(long[].class);
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final int HEAD_BYTES = Cbi1.WORDS_AT;
  private static final int PIECE_IMAGES = 512;

  private final CkfFormat expected;
  private final byte[] head = new byte[HEAD_BYTES];
  private final byte[] piece = new byte[PIECE_IMAGES * Cbi1.IMAGE_BYTES];
  private final LongBuffer pieceWords =
      ByteBuffer.wrap(piece).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
  private final Xxh3Scratch scratch = new Xxh3Scratch();
  private ByteBuffer frame = NOTHING;
  private int start;
  private int length;
  private PublicationFrame.@Nullable Kind kind;
  private @Nullable Cbi1Error error;
  private long errorValue;
  private long errorLimit;
  private int count;

  /**
   * Creates a decoder.
   *
   * @param expected the format of the subscribed producer
   */
  public Cbi1Decoder(CkfFormat expected) {
    this.expected = expected;
  }

  private static VarHandle view(Class<?> arrayClass) {
    return MethodHandles.byteArrayViewVarHandle(arrayClass, ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Checks a frame and shows its content from now on.
   *
   * @param payload the frame from position to limit; its state stays as it is, its order does not
   *     matter
   * @return whether the frame is good; if not, {@link #error} says why
   */
  public boolean decode(ByteBuffer payload) {
    release();
    frame = payload;
    start = payload.position();
    length = payload.remaining();
    if (checkHeader() && checkFormat()) {
      checkBody();
    }
    if (error != null) {
      frame = NOTHING;
      kind = null;
      return false;
    }
    return true;
  }

  /**
   * Checks a frame that has to be good.
   *
   * @param payload the frame from position to limit
   * @throws Cbi1Exception if it is not
   */
  public void decodeOrThrow(ByteBuffer payload) {
    if (!decode(payload)) {
      throw exception();
    }
  }

  /** Lets go of the frame. */
  public void release() {
    frame = NOTHING;
    kind = null;
    error = null;
    errorValue = 0;
    errorLimit = 0;
    count = 0;
  }

  private boolean checkHeader() {
    if (length < Cbi1.HEADER_BYTES) {
      return fail(Cbi1Error.TRUNCATED);
    }
    if (length > Cbi1.MAX_FRAME_BYTES) {
      return fail(Cbi1Error.FRAME_TOO_LARGE, length, Cbi1.MAX_FRAME_BYTES);
    }
    frame.get(start, head, 0, Math.min(length, HEAD_BYTES));
    if (u32(0) != Cbi1.MAGIC) {
      return fail(Cbi1Error.MAGIC);
    }
    int version = u16(Cbi1.WIRE_VERSION_AT);
    if (version != Cbi1.WIRE_VERSION) {
      return fail(Cbi1Error.WIRE_VERSION, version, 0);
    }
    return Cbi1.checksum(frame, start, length, scratch) == u32(Cbi1.CHECKSUM_AT)
        || fail(Cbi1Error.CHECKSUM);
  }

  private boolean checkFormat() {
    if (u16(Cbi1.FORMAT_VERSION_AT) != CkfFormat.VERSION) {
      return fail(Cbi1Error.FORMAT_VERSION);
    }
    if (u8(Cbi1.FINGERPRINT_BITS_AT) != CkfFormat.FINGERPRINT_BITS) {
      return fail(Cbi1Error.FORMAT_FINGERPRINT_BITS);
    }
    if (u8(Cbi1.SLOTS_AT) != CkfFormat.SLOTS_PER_BUCKET) {
      return fail(Cbi1Error.FORMAT_SLOTS_PER_BUCKET);
    }
    // The whole 64-bit count is compared, so none has to fit an int first.
    return (u64(Cbi1.SEED_AT) == expected.seed()
            && u64(Cbi1.BUCKET_COUNT_AT) == expected.bucketCount())
        || fail(Cbi1Error.FORMAT_MISMATCH);
  }

  private boolean checkBody() {
    int flags = u16(Cbi1.FLAGS_AT);
    return switch (flags) {
      case Cbi1.FLAG_DELTA -> checkDelta();
      case Cbi1.FLAG_CHUNK -> checkChunk();
      default -> fail(Cbi1Error.FLAGS, flags, 0);
    };
  }

  private boolean checkDelta() {
    int body = length - Cbi1.HEADER_BYTES;
    if (body < Cbi1.DELTA_PREFIX_BYTES) {
      return fail(Cbi1Error.MALFORMED);
    }
    int images = u32(Cbi1.IMAGE_COUNT_AT);
    if (Integer.compareUnsigned(images, Cbi1.MAX_DELTA_IMAGES) > 0) {
      return fail(
          Cbi1Error.DELTA_IMAGE_COUNT, Integer.toUnsignedLong(images), Cbi1.MAX_DELTA_IMAGES);
    }
    if (body != Cbi1.DELTA_PREFIX_BYTES + images * Cbi1.IMAGE_BYTES) {
      return fail(Cbi1Error.MALFORMED);
    }
    if ((bitsOfAllBuckets(images) & -expected.bucketCount()) != 0) {
      return fail(Cbi1Error.MALFORMED);
    }
    kind = PublicationFrame.Kind.DELTA;
    count = images;
    return true;
  }

  /**
   * A bucket is out of range if it has the bit of the bucket count, a power of two, or any above.
   */
  private int bitsOfAllBuckets(int images) {
    int bits = 0;
    for (int first = 0; first < images; first += PIECE_IMAGES) {
      int n = loadImages(first, images);
      for (int i = 0; i < n; i++) {
        bits |= (int) INTS.get(piece, i * Cbi1.IMAGE_BYTES);
      }
    }
    return bits;
  }

  /** Moves the images from {@code first} on to the piece; returns how many it took. */
  private int loadImages(int first, int images) {
    int n = Math.min(PIECE_IMAGES, images - first);
    int at = start + Cbi1.IMAGES_AT + first * Cbi1.IMAGE_BYTES;
    frame.get(at, piece, 0, n * Cbi1.IMAGE_BYTES);
    return n;
  }

  private boolean checkChunk() {
    int body = length - Cbi1.HEADER_BYTES;
    if (body < Cbi1.CHUNK_PREFIX_BYTES) {
      return fail(Cbi1Error.MALFORMED);
    }
    // An index below an unsigned count also rules out a count of zero.
    if (Integer.compareUnsigned(u32(Cbi1.CHUNK_INDEX_AT), u32(Cbi1.CHUNK_COUNT_AT)) >= 0) {
      return fail(Cbi1Error.MALFORMED);
    }
    int bytes = body - Cbi1.CHUNK_PREFIX_BYTES;
    if (bytes % Long.BYTES != 0) {
      return fail(Cbi1Error.MALFORMED);
    }
    int words = bytes / Long.BYTES;
    if (exceedsChunk(words)) {
      return fail(Cbi1Error.SNAPSHOT_CHUNK_WORD_COUNT, words, Cbi1.CHUNK_BUCKETS);
    }
    // Subtracting from the count instead of adding to the offset cannot overflow.
    long offset = u64(Cbi1.BUCKET_OFFSET_AT);
    long buckets = expected.bucketCount();
    if (Long.compareUnsigned(offset, buckets) > 0 || words > buckets - offset) {
      return fail(Cbi1Error.MALFORMED);
    }
    kind = PublicationFrame.Kind.SNAPSHOT_CHUNK;
    count = words;
    return true;
  }

  /** A guard that the frame limit keeps from ever firing. */
  static boolean exceedsChunk(int words) {
    return words > Cbi1.CHUNK_BUCKETS;
  }

  private boolean fail(Cbi1Error what) {
    return fail(what, 0, 0);
  }

  private boolean fail(Cbi1Error what, long value, long limit) {
    error = what;
    errorValue = value;
    errorLimit = limit;
    return false;
  }

  /**
   * Why the last frame is not good.
   *
   * @return the error, or null if it is good
   */
  public @Nullable Cbi1Error error() {
    return error;
  }

  /**
   * The error as an exception, with the value it carries.
   *
   * @return a new exception with the reason {@link RelayErrorReason#PROTOCOL_VIOLATION}
   * @throws IllegalStateException if the last frame is good
   */
  public Cbi1Exception exception() {
    if (error == null) {
      throw new IllegalStateException("the last frame is good");
    }
    return new Cbi1Exception(error, RelayErrorReason.PROTOCOL_VIOLATION, errorValue, errorLimit);
  }

  /**
   * What the frame is.
   *
   * @return {@code SNAPSHOT_CHUNK} or {@code DELTA}
   * @throws IllegalStateException if no good frame is shown; so do all methods below
   */
  public PublicationFrame.Kind kind() {
    if (kind == null) {
      throw new IllegalStateException("no good frame is shown");
    }
    return kind;
  }

  /**
   * The header's data center.
   *
   * @return the unsigned id
   */
  public long dcId() {
    kind();
    return u64(Cbi1.DC_ID_AT);
  }

  /**
   * The header's sequence.
   *
   * @return the unsigned sequence
   */
  public long epoch() {
    kind();
    return u64(Cbi1.EPOCH_AT);
  }

  /**
   * The header's bucket count.
   *
   * @return the bucket count, equal to the expected one
   */
  public int bucketCount() {
    kind();
    return (int) u64(Cbi1.BUCKET_COUNT_AT);
  }

  /**
   * The sequence a delta continues.
   *
   * @return the unsigned sequence
   */
  public long baseEpoch() {
    require(PublicationFrame.Kind.DELTA);
    return u64(Cbi1.BASE_EPOCH_AT);
  }

  /**
   * Images of a delta.
   *
   * @return their number
   */
  public int imageCount() {
    require(PublicationFrame.Kind.DELTA);
    return count;
  }

  /**
   * Bucket of one image.
   *
   * @param image 0..{@link #imageCount}-1
   * @return the bucket index, below the bucket count
   */
  public int bucket(int image) {
    return (int) INTS.get(piece, loadAt(imageAt(image), Integer.BYTES));
  }

  /**
   * Word of one image.
   *
   * @param image 0..{@link #imageCount}-1
   * @return the whole bucket word
   */
  public long word(int image) {
    return (long) LONGS.get(piece, loadAt(imageAt(image) + 4, Long.BYTES));
  }

  private int imageAt(int image) {
    require(PublicationFrame.Kind.DELTA);
    return Cbi1.IMAGES_AT + Objects.checkIndex(image, count) * Cbi1.IMAGE_BYTES;
  }

  /**
   * Copies all images of a delta, in order.
   *
   * @param buckets receives the buckets, from index 0
   * @param words receives the words, from index 0
   * @return their number
   * @throws IndexOutOfBoundsException if an array is too short
   */
  public int copyImages(int[] buckets, long[] words) {
    require(PublicationFrame.Kind.DELTA);
    Objects.checkFromIndexSize(0, count, Math.min(buckets.length, words.length));
    int images = count;
    for (int first = 0; first < images; first += PIECE_IMAGES) {
      int n = loadImages(first, images);
      for (int i = 0, at = 0; i < n; i++, at += Cbi1.IMAGE_BYTES) {
        buckets[first + i] = (int) INTS.get(piece, at);
        words[first + i] = (long) LONGS.get(piece, at + 4);
      }
    }
    return images;
  }

  /**
   * Position of a chunk in its snapshot.
   *
   * @return the index, unsigned
   */
  public int chunkIndex() {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    return u32(Cbi1.CHUNK_INDEX_AT);
  }

  /**
   * Chunks of the snapshot.
   *
   * @return their number, unsigned
   */
  public int chunkCount() {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    return u32(Cbi1.CHUNK_COUNT_AT);
  }

  /**
   * Bucket of a chunk's first word.
   *
   * @return 0 to the bucket count
   */
  public int bucketOffset() {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    return (int) u64(Cbi1.BUCKET_OFFSET_AT);
  }

  /**
   * Words of a chunk.
   *
   * @return their number
   */
  public int wordCount() {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    return count;
  }

  /**
   * One word of a chunk.
   *
   * @param index 0..{@link #wordCount}-1
   * @return the word of bucket {@code bucketOffset() + index}
   */
  public long chunkWord(int index) {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    int at = Cbi1.WORDS_AT + Objects.checkIndex(index, count) * Long.BYTES;
    return (long) LONGS.get(piece, loadAt(at, Long.BYTES));
  }

  /**
   * Copies all words of a chunk.
   *
   * @param target receives the words
   * @param from where the first one goes
   * @throws IndexOutOfBoundsException if they do not fit
   */
  public void copyWords(long[] target, int from) {
    require(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    Objects.checkFromIndexSize(from, count, target.length);
    int bytes = count * Long.BYTES;
    for (int done = 0; done < bytes; done += piece.length) {
      int moved = Math.min(piece.length, bytes - done);
      frame.get(start + Cbi1.WORDS_AT + done, piece, 0, moved);
      pieceWords.get(0, target, from + done / Long.BYTES, moved / Long.BYTES);
    }
  }

  private void require(PublicationFrame.Kind wanted) {
    if (kind() != wanted) {
      throw new IllegalStateException("the frame is a " + kind + ", not a " + wanted);
    }
  }

  /** Moves a few bytes to the piece; returns where they are. */
  private int loadAt(int at, int bytes) {
    frame.get(start + at, piece, 0, bytes);
    return 0;
  }

  private int u8(int at) {
    return head[at] & 0xFF;
  }

  private int u16(int at) {
    return (short) SHORTS.get(head, at) & 0xFFFF;
  }

  private int u32(int at) {
    return (int) INTS.get(head, at);
  }

  private long u64(int at) {
    return (long) LONGS.get(head, at);
  }
}
