package io.kvrelay.api;

/**
 * The layout of a packed cuckoo filter: the addressing seed and the number of buckets.
 *
 * <p>Format version, fingerprint width and bucket width are fixed by this contract. A format with
 * any other value of those cannot be represented and is quarantined by whoever decodes it.
 *
 * @param seed addressing seed, any value
 * @param bucketCount number of buckets: a power of two in {@value #MIN_BUCKETS}..{@value
 *     #MAX_BUCKETS}
 */
public record CkfFormat(long seed, int bucketCount) {
  /** Format version. */
  public static final int VERSION = 1;

  /** Bits of one fingerprint. */
  public static final int FINGERPRINT_BITS = 16;

  /** Fingerprint slots of one bucket; a bucket is one 64-bit word. */
  public static final int SLOTS_PER_BUCKET = 4;

  /** Smallest bucket count. */
  public static final int MIN_BUCKETS = 2;

  /** Largest bucket count, 2^24. */
  public static final int MAX_BUCKETS = 1 << 24;

  /** The addressing seed that a filter has unless it is configured otherwise. */
  public static final long DEFAULT_SEED = 0x5DEECE66D1B54A33L;

  /**
   * Checks the bucket count.
   *
   * @param seed addressing seed, any value
   * @param bucketCount number of buckets: a power of two in {@value #MIN_BUCKETS}..{@value
   *     #MAX_BUCKETS}
   * @throws IllegalArgumentException if the bucket count is not a power of two within its bounds
   */
  public CkfFormat {
    Check.that(
        bucketCount >= MIN_BUCKETS
            && bucketCount <= MAX_BUCKETS
            && Integer.bitCount(bucketCount) == 1,
        "bucketCount",
        Integer.toUnsignedString(bucketCount),
        "must be a power of two in 2..16777216");
  }
}
