package io.kvrelay.engine.cbi1;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.RelayErrorReason;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * Encodes one producer's frames. Immutable and thread safe; never blocks; allocates the frame it
 * returns and little else.
 *
 * <p>Frames are complete when they are returned: read-only, little-endian, from position 0 to their
 * limit. Checksumming dominates the cost of a chunk; the words themselves are moved in bulk.
 *
 * <p>Errors are {@link Cbi1Exception}s with the reason {@link
 * RelayErrorReason#INVALID_PUBLICATION}: the publication contradicts its format, so its generation
 * must be fenced.
 *
 * <p>The view handles are plain access to a frame that no other thread has seen yet.
 */
public final class Cbi1Encoder {
  private static final VarHandle SHORTS = view(short[].class);
  private static final VarHandle INTS = view(int[].class);
  private static final VarHandle LONGS = view(long[].class);

  private final CkfFormat format;
  private final long dcId;

  /**
   * Creates an encoder.
   *
   * @param format the filter's format
   * @param dcId the data center of the producer's identity
   */
  public Cbi1Encoder(CkfFormat format, long dcId) {
    this.format = format;
    this.dcId = dcId;
  }

  private static VarHandle view(Class<?> arrayClass) {
    return MethodHandles.byteArrayViewVarHandle(arrayClass, ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Encodes a delta. Images keep their order; neither an empty list nor a repeated bucket is
   * refused here, though consumers refuse both.
   *
   * @param epoch the sequence after the delta
   * @param baseEpoch the sequence before it
   * @param buckets bucket indexes
   * @param words whole bucket words, at the same indexes; zero empties a bucket
   * @param count how many leading entries of both arrays to encode
   * @return the frame
   * @throws Cbi1Exception {@link Cbi1Error#DELTA_IMAGE_COUNT} or {@link Cbi1Error#BUCKET_INDEX}
   */
  public ByteBuffer delta(long epoch, long baseEpoch, int[] buckets, long[] words, int count) {
    Objects.checkFromIndexSize(0, count, Math.min(buckets.length, words.length));
    if (count > Cbi1.MAX_DELTA_IMAGES) {
      throw invalid(Cbi1Error.DELTA_IMAGE_COUNT, count, Cbi1.MAX_DELTA_IMAGES);
    }
    byte[] frame = new byte[Cbi1.IMAGES_AT + count * Cbi1.IMAGE_BYTES];
    for (int i = 0, at = Cbi1.IMAGES_AT; i < count; i++, at += Cbi1.IMAGE_BYTES) {
      int bucket = buckets[i];
      if (Integer.compareUnsigned(bucket, format.bucketCount()) >= 0) {
        throw invalid(Cbi1Error.BUCKET_INDEX, Integer.toUnsignedLong(bucket), format.bucketCount());
      }
      INTS.set(frame, at, bucket);
      LONGS.set(frame, at + 4, words[i]);
    }
    LONGS.set(frame, Cbi1.BASE_EPOCH_AT, baseEpoch);
    INTS.set(frame, Cbi1.IMAGE_COUNT_AT, count);
    return complete(frame, Cbi1.FLAG_DELTA, epoch);
  }

  /**
   * Encodes one chunk of a snapshot.
   *
   * @param epoch the snapshot's sequence
   * @param words all bucket words; read during the call only
   * @param chunk 0 to {@link Cbi1#chunkCount} - 1
   * @return the frame
   * @throws Cbi1Exception {@link Cbi1Error#SNAPSHOT_BUCKET_COUNT}
   */
  public ByteBuffer snapshotChunk(long epoch, long[] words, int chunk) {
    checkSnapshot(words);
    int chunks = Cbi1.chunkCount(words.length);
    int offset = Objects.checkIndex(chunk, chunks) * Cbi1.CHUNK_BUCKETS;
    int count = Math.min(Cbi1.CHUNK_BUCKETS, words.length - offset);
    byte[] frame = new byte[Cbi1.WORDS_AT + count * Long.BYTES];
    INTS.set(frame, Cbi1.CHUNK_INDEX_AT, chunk);
    INTS.set(frame, Cbi1.CHUNK_COUNT_AT, chunks);
    LONGS.set(frame, Cbi1.BUCKET_OFFSET_AT, (long) offset);
    ByteBuffer.wrap(frame, Cbi1.WORDS_AT, count * Long.BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer()
        .put(words, offset, count);
    return complete(frame, Cbi1.FLAG_CHUNK, epoch);
  }

  /**
   * Encodes a snapshot lazily, one chunk for each {@link Snapshot#next}.
   *
   * @param epoch the snapshot's sequence
   * @param words all bucket words; must not change until the last chunk has been taken
   * @return the chunks
   * @throws Cbi1Exception {@link Cbi1Error#SNAPSHOT_BUCKET_COUNT}
   */
  public Snapshot snapshot(long epoch, long[] words) {
    checkSnapshot(words);
    return new Snapshot(epoch, words);
  }

  private void checkSnapshot(long[] words) {
    if (words.length != format.bucketCount()) {
      throw invalid(Cbi1Error.SNAPSHOT_BUCKET_COUNT, words.length, format.bucketCount());
    }
  }

  private ByteBuffer complete(byte[] frame, int flags, long epoch) {
    INTS.set(frame, 0, Cbi1.MAGIC);
    SHORTS.set(frame, Cbi1.WIRE_VERSION_AT, (short) Cbi1.WIRE_VERSION);
    SHORTS.set(frame, Cbi1.FLAGS_AT, (short) flags);
    frame[Cbi1.FINGERPRINT_BITS_AT] = CkfFormat.FINGERPRINT_BITS;
    frame[Cbi1.SLOTS_AT] = CkfFormat.SLOTS_PER_BUCKET;
    SHORTS.set(frame, Cbi1.FORMAT_VERSION_AT, (short) CkfFormat.VERSION);
    LONGS.set(frame, Cbi1.SEED_AT, format.seed());
    LONGS.set(frame, Cbi1.BUCKET_COUNT_AT, (long) format.bucketCount());
    LONGS.set(frame, Cbi1.DC_ID_AT, dcId);
    LONGS.set(frame, Cbi1.EPOCH_AT, epoch);
    INTS.set(frame, Cbi1.CHECKSUM_AT, Cbi1.checksum(frame));
    return ByteBuffer.wrap(frame).asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  private static Cbi1Exception invalid(Cbi1Error error, long value, long limit) {
    return new Cbi1Exception(error, RelayErrorReason.INVALID_PUBLICATION, value, limit);
  }

  /** The chunks of one snapshot, encoded as they are taken. Not thread safe. */
  public final class Snapshot implements Iterator<ByteBuffer> {
    private final long epoch;
    private final long[] words;
    private int next;

    private Snapshot(long epoch, long[] words) {
      this.epoch = epoch;
      this.words = words;
    }

    /**
     * Chunks that have not been taken yet.
     *
     * @return their exact number
     */
    public int remaining() {
      return Cbi1.chunkCount(words.length) - next;
    }

    @Override
    public boolean hasNext() {
      return remaining() > 0;
    }

    @Override
    public ByteBuffer next() {
      if (!hasNext()) {
        throw new NoSuchElementException("all " + next + " chunks have been taken");
      }
      return snapshotChunk(epoch, words, next++);
    }
  }
}
