package io.kvrelay.engine.ingest;

import java.time.Duration;

/** How a relay reads the sources of one pool. Immutable. */
public final class IngestConfig {
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE); // 292 years

  private final Duration recoveryAttemptTimeout;
  private final Duration unknownGrace;
  private final int inboxBatches;

  private IngestConfig(Builder b) {
    this.recoveryAttemptTimeout = b.recoveryAttemptTimeout;
    this.unknownGrace = b.unknownGrace;
    this.inboxBatches = b.inboxBatches;
  }

  /**
   * Starts from the defaults: 30 seconds an attempt, 10 seconds of an unknown source, 1024 batches.
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
        .recoveryAttemptTimeout(recoveryAttemptTimeout)
        .unknownGrace(unknownGrace)
        .inboxBatches(inboxBatches);
  }

  /**
   * How long one history request may take, and how long the first ranks of a pool wait for each
   * other.
   *
   * @return more than zero
   */
  public Duration recoveryAttemptTimeout() {
    return recoveryAttemptTimeout;
  }

  /**
   * How long a source may be unknown before its rank is reset.
   *
   * @return more than zero
   */
  public Duration unknownGrace() {
    return unknownGrace;
  }

  /**
   * How many batches of one rank wait before the next one is lost.
   *
   * @return at least 1
   */
  public int inboxBatches() {
    return inboxBatches;
  }

  /** Assembles a configuration. Not thread safe. */
  public static final class Builder {
    private Duration recoveryAttemptTimeout = Duration.ofSeconds(30);
    private Duration unknownGrace = Duration.ofSeconds(10);
    private int inboxBatches = 1024;

    private Builder() {}

    /**
     * Sets how long one history request may take.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder recoveryAttemptTimeout(Duration timeout) {
      this.recoveryAttemptTimeout = timeout;
      return this;
    }

    /**
     * Sets how long a source may be unknown before its rank is reset.
     *
     * @param grace more than zero
     * @return this
     */
    public Builder unknownGrace(Duration grace) {
      this.unknownGrace = grace;
      return this;
    }

    /**
     * Sets how many batches of one rank wait before the next one is lost.
     *
     * @param batches at least 1
     * @return this
     */
    public Builder inboxBatches(int batches) {
      this.inboxBatches = batches;
      return this;
    }

    /**
     * Creates the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException naming the field and its value
     */
    public IngestConfig build() {
      positive("recoveryAttemptTimeout", recoveryAttemptTimeout);
      positive("unknownGrace", unknownGrace);
      if (inboxBatches < 1) {
        throw new IllegalArgumentException("inboxBatches = " + inboxBatches + ": must be positive");
      }
      return new IngestConfig(this);
    }

    private static void positive(String field, Duration value) {
      if (value.isNegative() || value.isZero()) {
        throw new IllegalArgumentException(field + " = " + value + ": must be positive");
      }
      if (value.compareTo(LONGEST) > 0) {
        throw new IllegalArgumentException(field + " = " + value + ": must be at most " + LONGEST);
      }
    }
  }
}
