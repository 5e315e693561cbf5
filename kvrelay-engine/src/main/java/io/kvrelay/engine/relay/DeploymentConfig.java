package io.kvrelay.engine.relay;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.ingest.IngestConfig;
import io.kvrelay.engine.ingest.RecoveryPermits;
import io.kvrelay.engine.pool.PoolConfig;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a relay runs the pools that its deployment calls for: their filters, their cadence, and how
 * lost events are recovered. One configuration for all of them, because pools that are compared in
 * one table need filters of one layout. Immutable, thread safe.
 */
public final class DeploymentConfig {
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE); // 292 years

  /** Every setting at its default. */
  public static final DeploymentConfig DEFAULTS = builder().build();

  private final PoolConfig pool;
  private final IngestConfig ingest;
  private final int maxConcurrentRecoveries;
  private final Duration stopTimeout;

  private DeploymentConfig(Builder b) {
    this.pool = b.pool.build();
    this.ingest = b.ingest.build();
    this.maxConcurrentRecoveries = b.maxConcurrentRecoveries;
    this.stopTimeout = b.stopTimeout;
  }

  /**
   * A builder that holds the defaults.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The layout of every filter.
   *
   * @return the format
   */
  public CkfFormat filterFormat() {
    return pool.format();
  }

  /**
   * Events after which a pool publishes.
   *
   * @return at least 1
   */
  public int publicationThreshold() {
    return pool.publicationThreshold();
  }

  /**
   * How long an event waits for others before its pool publishes.
   *
   * @return positive
   */
  public Duration publicationDelay() {
    return pool.publicationDelay();
  }

  /**
   * How long one request for history may take.
   *
   * @return positive
   */
  public Duration recoveryTimeout() {
    return ingest.recoveryAttemptTimeout();
  }

  /**
   * How long an event source may be unknown before its rank stops contributing.
   *
   * @return positive
   */
  public Duration unknownGrace() {
    return ingest.unknownGrace();
  }

  /**
   * Batches of one rank that wait before the next one is lost, and recovered.
   *
   * @return at least 1
   */
  public int inboxBatches() {
    return ingest.inboxBatches();
  }

  /**
   * Requests for history under way at a time, of all pools together.
   *
   * @return at least 1
   */
  public int maxConcurrentRecoveries() {
    return maxConcurrentRecoveries;
  }

  /**
   * How long a shutdown waits for pools to be retired in order.
   *
   * @return positive
   */
  public Duration stopTimeout() {
    return stopTimeout;
  }

  PoolConfig pool() {
    return pool;
  }

  IngestConfig ingest() {
    return ingest;
  }

  /** Collects settings. Not thread safe. */
  public static final class Builder {
    private final PoolConfig.Builder pool = PoolConfig.builder();
    private final IngestConfig.Builder ingest = IngestConfig.builder();
    private int maxConcurrentRecoveries = RecoveryPermits.DEFAULT;
    private Duration stopTimeout = Duration.ofSeconds(10);

    private Builder() {}

    /**
     * Sets for how many different blocks a filter is laid out; 1,048,576 unless set, a filter of 4
     * MiB.
     *
     * @param blocks positive; at most 53,687,091
     * @return this
     */
    public Builder expectedUniqueBlocks(long blocks) {
      pool.expectedUniqueBlocks(blocks);
      return this;
    }

    /**
     * Sets the filters' addressing seed; data centers that are compared in one table need the same
     * one.
     *
     * @param seed any value
     * @return this
     */
    public Builder filterSeed(long seed) {
      pool.seed(seed);
      return this;
    }

    /**
     * Sets how many fingerprints one insert may move; 500 unless set.
     *
     * @param kicks 1..4096
     * @return this
     */
    public Builder maxKicks(int kicks) {
      pool.maxKicks(kicks);
      return this;
    }

    /**
     * Sets after how many events a pool publishes; 16 unless set.
     *
     * @param events at least 1
     * @return this
     */
    public Builder publicationThreshold(int events) {
      pool.publicationThreshold(events);
      return this;
    }

    /**
     * Sets how long an event may wait for others before its pool publishes; 1 ms unless set.
     *
     * @param delay positive
     * @return this
     */
    public Builder publicationDelay(Duration delay) {
      pool.publicationDelay(delay);
      return this;
    }

    /**
     * Sets how long one request for history may take; 30 s unless set.
     *
     * @param timeout positive
     * @return this
     */
    public Builder recoveryTimeout(Duration timeout) {
      ingest.recoveryAttemptTimeout(timeout);
      return this;
    }

    /**
     * Sets how long an event source may be unknown before its rank stops contributing; 10 s unless
     * set.
     *
     * @param grace positive
     * @return this
     */
    public Builder unknownGrace(Duration grace) {
      ingest.unknownGrace(grace);
      return this;
    }

    /**
     * Sets how many batches of one rank may wait before the next one is lost, and recovered; 1024
     * unless set.
     *
     * @param batches at least 1
     * @return this
     */
    public Builder inboxBatches(int batches) {
      ingest.inboxBatches(batches);
      return this;
    }

    /**
     * Sets how many requests for history may be under way at a time; 16 unless set.
     *
     * @param requests at least 1
     * @return this
     */
    public Builder maxConcurrentRecoveries(int requests) {
      this.maxConcurrentRecoveries = requests;
      return this;
    }

    /**
     * Sets how long a shutdown waits for pools to be retired in order before it ends what is left;
     * 10 s unless set.
     *
     * @param timeout positive
     * @return this
     */
    public Builder stopTimeout(Duration timeout) {
      this.stopTimeout = timeout;
      return this;
    }

    /**
     * Checks and freezes the configuration.
     *
     * @return the configuration
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the field and the value
     */
    public DeploymentConfig build() {
      if (stopTimeout.isNegative() || stopTimeout.isZero()) {
        throw invalid("stopTimeout = " + stopTimeout + ": must be positive", null);
      }
      if (stopTimeout.compareTo(LONGEST) > 0) {
        throw invalid("stopTimeout = " + stopTimeout + ": must be at most " + LONGEST, null);
      }
      if (maxConcurrentRecoveries < 1) {
        throw invalid(
            "maxConcurrentRecoveries = " + maxConcurrentRecoveries + ": must be positive", null);
      }
      try {
        return new DeploymentConfig(this);
      } catch (IllegalArgumentException e) {
        // The values check themselves; their messages name the field.
        throw invalid(String.valueOf(e.getMessage()), e);
      }
    }

    private static RelayException invalid(String message, @Nullable Throwable cause) {
      return new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION,
          RelayErrorReason.INVALID_CONFIGURATION.action(),
          message,
          cause);
    }
  }
}
