package io.kvrelay.engine.publication;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The bounds of a relay's publications. Immutable; checked when built, and refused by the key's
 * name.
 *
 * <p>Keys and defaults: {@code snapshot_progress_timeout_ms} 60 000, {@code
 * publication_queue_capacity} 16 frames, {@code publication_queue_bytes} 16 MiB, {@code
 * publication_encoding_concurrency} 2, {@code max_pool_streams_total}, {@code
 * max_subscribers_per_pool} and {@code max_initialized_pool_hubs} 64. What belongs to a transport
 * stands in {@link io.kvrelay.api.transport.TransportLimits}.
 */
public final class PublicationConfig {
  /** Largest CBI1 frame and what a frame counts beyond its payload. */
  public static final int MIN_QUEUE_BYTES = 4_194_624;

  /** Most frames a subscriber's queue can be configured to hold. */
  public static final int MAX_QUEUE_CAPACITY = 1 << 30;

  private static final Duration MAX_TIMER = Duration.ofDays(365);

  /** The defaults. */
  public static final PublicationConfig DEFAULTS = builder().build();

  private final Builder values;

  private PublicationConfig(Builder values) {
    this.values = new Builder(values);
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
   * A builder that holds these values.
   *
   * @return the builder
   */
  public Builder toBuilder() {
    return new Builder(values);
  }

  /**
   * How long one snapshot chunk may wait for its subscriber to take the one before it.
   *
   * @return the timeout
   */
  public Duration snapshotProgressTimeout() {
    return values.snapshotProgressTimeout;
  }

  /**
   * Deltas that may wait for one subscriber.
   *
   * @return frames
   */
  public int publicationQueueCapacity() {
    return values.publicationQueueCapacity;
  }

  /**
   * Bytes of deltas that may wait for one subscriber; a frame counts its payload and 256.
   *
   * @return bytes
   */
  public long publicationQueueBytes() {
    return values.publicationQueueBytes;
  }

  /**
   * Deltas that are encoded at a time over all hubs, and, counted on its own, snapshots.
   *
   * @return encodings
   */
  public int publicationEncodingConcurrency() {
    return values.publicationEncodingConcurrency;
  }

  /**
   * Open pool streams over all pools.
   *
   * @return streams
   */
  public int maxPoolStreamsTotal() {
    return values.maxPoolStreamsTotal;
  }

  /**
   * Open streams of one pool.
   *
   * @return streams
   */
  public int maxSubscribersPerPool() {
    return values.maxSubscribersPerPool;
  }

  /**
   * Pools whose hub holds a mirror at a time.
   *
   * @return hubs
   */
  public int maxInitializedPoolHubs() {
    return values.maxInitializedPoolHubs;
  }

  /** Collects values. Not thread safe. */
  public static final class Builder {
    private Duration snapshotProgressTimeout = Duration.ofSeconds(60);
    private int publicationQueueCapacity = 16;
    private long publicationQueueBytes = 16L << 20;
    private int publicationEncodingConcurrency = 2;
    private int maxPoolStreamsTotal = 64;
    private int maxSubscribersPerPool = 64;
    private int maxInitializedPoolHubs = 64;

    private Builder() {}

    private Builder(Builder other) {
      this.snapshotProgressTimeout = other.snapshotProgressTimeout;
      this.publicationQueueCapacity = other.publicationQueueCapacity;
      this.publicationQueueBytes = other.publicationQueueBytes;
      this.publicationEncodingConcurrency = other.publicationEncodingConcurrency;
      this.maxPoolStreamsTotal = other.maxPoolStreamsTotal;
      this.maxSubscribersPerPool = other.maxSubscribersPerPool;
      this.maxInitializedPoolHubs = other.maxInitializedPoolHubs;
    }

    /**
     * Sets {@code snapshot_progress_timeout_ms}.
     *
     * @param timeout positive, at most 365 days
     * @return this
     */
    public Builder snapshotProgressTimeout(Duration timeout) {
      this.snapshotProgressTimeout = timeout;
      return this;
    }

    /**
     * Sets {@code publication_queue_capacity}.
     *
     * @param frames 1..2^30
     * @return this
     */
    public Builder publicationQueueCapacity(int frames) {
      this.publicationQueueCapacity = frames;
      return this;
    }

    /**
     * Sets {@code publication_queue_bytes}.
     *
     * @param bytes at least {@link PublicationConfig#MIN_QUEUE_BYTES}
     * @return this
     */
    public Builder publicationQueueBytes(long bytes) {
      this.publicationQueueBytes = bytes;
      return this;
    }

    /**
     * Sets {@code publication_encoding_concurrency}.
     *
     * @param encodings at least 1
     * @return this
     */
    public Builder publicationEncodingConcurrency(int encodings) {
      this.publicationEncodingConcurrency = encodings;
      return this;
    }

    /**
     * Sets {@code max_pool_streams_total}.
     *
     * @param streams at least 1
     * @return this
     */
    public Builder maxPoolStreamsTotal(int streams) {
      this.maxPoolStreamsTotal = streams;
      return this;
    }

    /**
     * Sets {@code max_subscribers_per_pool}.
     *
     * @param streams at least 1
     * @return this
     */
    public Builder maxSubscribersPerPool(int streams) {
      this.maxSubscribersPerPool = streams;
      return this;
    }

    /**
     * Sets {@code max_initialized_pool_hubs}.
     *
     * @param hubs at least 1
     * @return this
     */
    public Builder maxInitializedPoolHubs(int hubs) {
      this.maxInitializedPoolHubs = hubs;
      return this;
    }

    /**
     * Takes overrides from variables named {@code DYN_RELAY_<KEY>} in upper case, each a positive
     * integer. Other variables are left alone.
     *
     * @param variables such as {@link System#getenv()}
     * @return this
     * @throws RelayException with {@code INVALID_CONFIGURATION} if a value is not a positive
     *     integer in range, naming the key
     */
    public Builder environment(Map<String, String> variables) {
      variable(variables, "snapshot_progress_timeout_ms", Long.MAX_VALUE)
          .ifPresent(millis -> snapshotProgressTimeout(Duration.ofMillis(millis)));
      variable(variables, "publication_queue_capacity", MAX_QUEUE_CAPACITY)
          .ifPresent(frames -> publicationQueueCapacity(frames.intValue()));
      variable(variables, "publication_queue_bytes", Long.MAX_VALUE)
          .ifPresent(this::publicationQueueBytes);
      variable(variables, "publication_encoding_concurrency", Integer.MAX_VALUE)
          .ifPresent(encodings -> publicationEncodingConcurrency(encodings.intValue()));
      variable(variables, "max_pool_streams_total", Integer.MAX_VALUE)
          .ifPresent(streams -> maxPoolStreamsTotal(streams.intValue()));
      variable(variables, "max_subscribers_per_pool", Integer.MAX_VALUE)
          .ifPresent(streams -> maxSubscribersPerPool(streams.intValue()));
      variable(variables, "max_initialized_pool_hubs", Integer.MAX_VALUE)
          .ifPresent(hubs -> maxInitializedPoolHubs(hubs.intValue()));
      return this;
    }

    private static Optional<Long> variable(
        Map<String, String> variables, String key, long maximum) {
      String text = variables.get("DYN_RELAY_" + key.toUpperCase(Locale.ROOT));
      if (text == null) {
        return Optional.empty();
      }
      try {
        long value = Long.parseLong(text);
        if (value > 0 && value <= maximum) {
          return Optional.of(value);
        }
      } catch (NumberFormatException notANumber) {
        // refused below, like a number out of range
      }
      throw invalid(key, '"' + text + '"', "must be an integer in 1.." + maximum);
    }

    /**
     * Checks and freezes the values.
     *
     * @return the configuration
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the key and the value
     */
    public PublicationConfig build() {
      if (snapshotProgressTimeout.isNegative()
          || snapshotProgressTimeout.isZero()
          || snapshotProgressTimeout.compareTo(MAX_TIMER) > 0) {
        throw invalid(
            "snapshot_progress_timeout_ms",
            snapshotProgressTimeout,
            "must be positive and at most 365 days");
      }
      atLeast("publication_queue_capacity", publicationQueueCapacity, 1);
      if (publicationQueueCapacity > MAX_QUEUE_CAPACITY) {
        throw invalid(
            "publication_queue_capacity",
            publicationQueueCapacity,
            "must be at most " + MAX_QUEUE_CAPACITY);
      }
      atLeast("publication_queue_bytes", publicationQueueBytes, MIN_QUEUE_BYTES);
      atLeast("publication_encoding_concurrency", publicationEncodingConcurrency, 1);
      atLeast("max_pool_streams_total", maxPoolStreamsTotal, 1);
      atLeast("max_subscribers_per_pool", maxSubscribersPerPool, 1);
      atLeast("max_initialized_pool_hubs", maxInitializedPoolHubs, 1);
      return new PublicationConfig(this);
    }

    private static void atLeast(String key, long value, long minimum) {
      if (value < minimum) {
        throw invalid(key, value, "must be at least " + minimum);
      }
    }

    private static RelayException invalid(String key, Object value, String rule) {
      return new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION, key + " = " + value + ": " + rule);
    }
  }
}
