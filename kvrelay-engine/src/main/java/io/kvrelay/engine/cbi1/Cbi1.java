package io.kvrelay.engine.cbi1;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.hash.Xxh3Scratch;
import java.nio.ByteBuffer;

/** The numbers of the CBI1 layout. All fields are little-endian and unsigned. */
public final class Cbi1 {
  /** Bytes of the header that every frame starts with. */
  public static final int HEADER_BYTES = 48;

  /** Bytes of a delta's body before its images. */
  public static final int DELTA_PREFIX_BYTES = 12;

  /** Bytes of one image: bucket and word, packed. */
  public static final int IMAGE_BYTES = 12;

  /** Bytes of a chunk's body before its words. */
  public static final int CHUNK_PREFIX_BYTES = 16;

  /** Buckets of every snapshot chunk but the last. */
  public static final int CHUNK_BUCKETS = 512 * 1024;

  /** Bytes of the largest frame: one full snapshot chunk. */
  public static final int MAX_FRAME_BYTES =
      HEADER_BYTES + CHUNK_PREFIX_BYTES + CHUNK_BUCKETS * Long.BYTES;

  /**
   * Images of the largest delta. A larger publication has to become a snapshot, never several
   * deltas.
   */
  public static final int MAX_DELTA_IMAGES =
      (MAX_FRAME_BYTES - HEADER_BYTES - DELTA_PREFIX_BYTES) / IMAGE_BYTES;

  /** {@code CBI1} as a little-endian word. */
  static final int MAGIC = 0x3149_4243;

  static final int WIRE_VERSION = 1;
  static final int FLAG_CHUNK = 1;
  static final int FLAG_DELTA = 2;

  static final int WIRE_VERSION_AT = 4;
  static final int FLAGS_AT = 6;
  static final int FINGERPRINT_BITS_AT = 8;
  static final int SLOTS_AT = 9;
  static final int FORMAT_VERSION_AT = 10;
  static final int SEED_AT = 12;
  static final int BUCKET_COUNT_AT = 20;
  static final int DC_ID_AT = 28;
  static final int EPOCH_AT = 36;
  static final int CHECKSUM_AT = 44;

  static final int BASE_EPOCH_AT = HEADER_BYTES;
  static final int IMAGE_COUNT_AT = HEADER_BYTES + 8;
  static final int IMAGES_AT = HEADER_BYTES + DELTA_PREFIX_BYTES;

  static final int CHUNK_INDEX_AT = HEADER_BYTES;
  static final int CHUNK_COUNT_AT = HEADER_BYTES + 4;
  static final int BUCKET_OFFSET_AT = HEADER_BYTES + 8;
  static final int WORDS_AT = HEADER_BYTES + CHUNK_PREFIX_BYTES;

  private Cbi1() {}

  /**
   * How many chunks carry a whole filter.
   *
   * @param bucketCount buckets of the filter
   * @return 1 to 32
   */
  public static int chunkCount(int bucketCount) {
    return (bucketCount + CHUNK_BUCKETS - 1) / CHUNK_BUCKETS;
  }

  /**
   * The format that encoders and decoders work with.
   *
   * @param seed any seed
   * @param bucketCount the unsigned bucket count of a peer or a configuration
   * @return the format
   * @throws Cbi1Exception {@link Cbi1Error#FORMAT_BUCKET_COUNT} unless the count is a power of two
   *     in 2..2^24
   */
  public static CkfFormat format(long seed, long bucketCount) {
    boolean supported =
        bucketCount >= CkfFormat.MIN_BUCKETS
            && bucketCount <= CkfFormat.MAX_BUCKETS
            && Long.bitCount(bucketCount) == 1;
    if (!supported) {
      throw new Cbi1Exception(
          Cbi1Error.FORMAT_BUCKET_COUNT, RelayErrorReason.UNSUPPORTED_FEATURE, bucketCount, 0);
    }
    return new CkfFormat(seed, (int) bucketCount);
  }

  /** Checksum of the body; no header byte is covered. */
  static int checksum(byte[] frame) {
    return (int) Xxh3.UNSEEDED.hashBytes(frame, HEADER_BYTES, frame.length - HEADER_BYTES);
  }

  /** The same of a frame within a buffer. */
  static int checksum(ByteBuffer in, int start, int length, Xxh3Scratch scratch) {
    return (int) Xxh3.UNSEEDED.hash(in, start + HEADER_BYTES, length - HEADER_BYTES, scratch);
  }
}
