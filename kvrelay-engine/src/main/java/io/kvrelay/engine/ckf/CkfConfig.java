package io.kvrelay.engine.ckf;

import io.kvrelay.api.CkfFormat;

/**
 * Size and shape of a producer's filter.
 *
 * @param expectedBlocks unique blocks that the filter should hold at a load of 0.8; at least 1
 * @param seed addressing seed, any value
 * @param maxKicks most evictions of one insert, 1..4096
 */
public record CkfConfig(long expectedBlocks, long seed, int maxKicks) {
  /** Expected blocks of a pool unless configured otherwise: 1,048,576, a filter of 4 MiB. */
  public static final long DEFAULT_EXPECTED_BLOCKS = 1L << 20;

  /** Most expected blocks: they need 2^24 buckets. */
  public static final long LARGEST_EXPECTED_BLOCKS = CkfFormat.MAX_BUCKETS * 16L / 5;

  /** Evictions unless configured otherwise. */
  public static final int DEFAULT_MAX_KICKS = 500;

  /** Largest number of evictions. */
  public static final int LARGEST_MAX_KICKS = 4096;

  /**
   * Checks every field.
   *
   * @throws IllegalArgumentException naming the field and its value
   */
  public CkfConfig {
    bucketCount(expectedBlocks);
    checkMaxKicks(maxKicks);
  }

  /**
   * A filter of the default seed and kicks.
   *
   * @param expectedBlocks unique blocks expected
   * @return the configuration
   */
  public static CkfConfig of(long expectedBlocks) {
    return new CkfConfig(expectedBlocks, CkfFormat.DEFAULT_SEED, DEFAULT_MAX_KICKS);
  }

  /**
   * The format that this configuration gives.
   *
   * @return seed and bucket count
   */
  public CkfFormat format() {
    return new CkfFormat(seed, bucketCount(expectedBlocks));
  }

  /**
   * Buckets for a number of blocks: one for every 3.2 blocks (four slots at a load of 0.8), rounded
   * up to a power of two, at least 2.
   *
   * @param expectedBlocks blocks expected
   * @return the bucket count
   * @throws IllegalArgumentException if {@code expectedBlocks} is not positive or needs more than
   *     2^24 buckets
   */
  public static int bucketCount(long expectedBlocks) {
    if (expectedBlocks <= 0) {
      throw new IllegalArgumentException(
          "expectedBlocks = " + expectedBlocks + ": must be positive");
    }
    // 5n/16 <= 2^24 already bounds n, so the product below cannot overflow.
    if (expectedBlocks > LARGEST_EXPECTED_BLOCKS) {
      throw new IllegalArgumentException(
          "expectedBlocks = " + expectedBlocks + ": needs more than 16777216 buckets");
    }
    int buckets = (int) Math.max(2, (5 * expectedBlocks + 15) / 16);
    return Integer.highestOneBit(buckets - 1) << 1;
  }

  static int checkMaxKicks(int maxKicks) {
    if (maxKicks < 1 || maxKicks > LARGEST_MAX_KICKS) {
      throw new IllegalArgumentException("maxKicks = " + maxKicks + ": must be in 1..4096");
    }
    return maxKicks;
  }
}
