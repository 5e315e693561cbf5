package io.kvrelay.engine.pool;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.ckf.CkfConfig;
import java.time.Duration;

/**
 * How a relay runs one pool: the size of its filter and the cadence of its publications. Immutable.
 */
public final class PoolConfig {
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE); // 292 years

  private final CkfConfig filter;
  private final int publicationThreshold;
  private final Duration publicationDelay;

  private PoolConfig(Builder b) {
    this.filter = new CkfConfig(b.expectedUniqueBlocks, b.seed, b.maxKicks);
    this.publicationThreshold = b.publicationThreshold;
    this.publicationDelay = b.publicationDelay;
  }

  /**
   * Starts from the defaults: 1,048,576 blocks, 500 kicks, 16 events or 1 ms.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Starts from this configuration.
   *
   * @return a builder
   */
  public Builder toBuilder() {
    return new Builder()
        .expectedUniqueBlocks(filter.expectedBlocks())
        .seed(filter.seed())
        .maxKicks(filter.maxKicks())
        .publicationThreshold(publicationThreshold)
        .publicationDelay(publicationDelay);
  }

  /**
   * The filter.
   *
   * @return size, seed and kicks
   */
  public CkfConfig filter() {
    return filter;
  }

  /**
   * The filter's format, which is part of the producer's identity.
   *
   * @return seed and bucket count
   */
  public CkfFormat format() {
    return filter.format();
  }

  /**
   * Events that close a publication window.
   *
   * @return at least 1
   */
  public int publicationThreshold() {
    return publicationThreshold;
  }

  /**
   * How long a lone event waits for others.
   *
   * @return more than zero
   */
  public Duration publicationDelay() {
    return publicationDelay;
  }

  /** Assembles a configuration. Not thread safe. */
  public static final class Builder {
    private long expectedUniqueBlocks = CkfConfig.DEFAULT_EXPECTED_BLOCKS;
    private long seed = CkfFormat.DEFAULT_SEED;
    private int maxKicks = CkfConfig.DEFAULT_MAX_KICKS;
    private int publicationThreshold = 16;
    private Duration publicationDelay = Duration.ofMillis(1);

    private Builder() {}

    /**
     * Sets how many unique blocks the filter should hold.
     *
     * @param blocks 1..{@value CkfConfig#LARGEST_EXPECTED_BLOCKS}
     * @return this
     */
    public Builder expectedUniqueBlocks(long blocks) {
      this.expectedUniqueBlocks = blocks;
      return this;
    }

    /**
     * Sets the addressing seed.
     *
     * @param seed any value
     * @return this
     */
    public Builder seed(long seed) {
      this.seed = seed;
      return this;
    }

    /**
     * Sets the most evictions of one insert.
     *
     * @param maxKicks 1..4096
     * @return this
     */
    public Builder maxKicks(int maxKicks) {
      this.maxKicks = maxKicks;
      return this;
    }

    /**
     * Sets the number of events that close a publication window.
     *
     * @param events at least 1
     * @return this
     */
    public Builder publicationThreshold(int events) {
      this.publicationThreshold = events;
      return this;
    }

    /**
     * Sets how long a lone event waits for others.
     *
     * @param delay more than zero
     * @return this
     */
    public Builder publicationDelay(Duration delay) {
      this.publicationDelay = delay;
      return this;
    }

    /**
     * Creates the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException naming the field and its value
     */
    public PoolConfig build() {
      if (expectedUniqueBlocks < 1 || expectedUniqueBlocks > CkfConfig.LARGEST_EXPECTED_BLOCKS) {
        throw new IllegalArgumentException(
            "expectedUniqueBlocks = "
                + expectedUniqueBlocks
                + ": must be in 1.."
                + CkfConfig.LARGEST_EXPECTED_BLOCKS);
      }
      if (publicationThreshold < 1) {
        throw new IllegalArgumentException(
            "publicationThreshold = " + publicationThreshold + ": must be positive");
      }
      if (publicationDelay.isNegative() || publicationDelay.isZero()) {
        throw new IllegalArgumentException(
            "publicationDelay = " + publicationDelay + ": must be positive");
      }
      if (publicationDelay.compareTo(LONGEST) > 0) {
        throw new IllegalArgumentException(
            "publicationDelay = " + publicationDelay + ": must be at most " + LONGEST);
      }
      return new PoolConfig(this);
    }
  }
}
