package io.kvrelay.api.transport;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.time.Duration;

/**
 * Bounds and intervals of an exporting transport. Immutable; checked when built.
 *
 * <p>Keys and defaults: {@code max_message_bytes} 8 MiB, {@code keepalive_interval_ms} 20 000,
 * {@code keepalive_timeout_ms} 10 000, {@code pool_heartbeat_interval_ms}, {@code
 * catalog_heartbeat_interval_ms} and {@code readiness_heartbeat_interval_ms} 10 000, {@code
 * load_window_ms} 1 000, {@code load_fanout_capacity} 16, {@code max_catalog_subscribers}, {@code
 * max_pool_streams_total}, {@code max_readiness_subscribers} and {@code max_load_subscribers} 64.
 */
public final class TransportLimits {
  /** The defaults. */
  public static final TransportLimits DEFAULTS = builder().build();

  /** Smallest message limit: the largest CBI1 frame and 64 KiB. */
  public static final int MIN_MESSAGE_BYTES = 4_259_904;

  private static final long MAX_TIMER_MILLIS = 31_536_000_000L;
  private static final int MAX_FANOUT = 65_536;

  private final Builder values;

  private TransportLimits(Builder values) {
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
   * Largest message either way.
   *
   * @return bytes
   */
  public int maxMessageBytes() {
    return values.maxMessageBytes;
  }

  /**
   * Interval of connection keepalives.
   *
   * @return the interval
   */
  public Duration keepaliveInterval() {
    return values.keepaliveInterval;
  }

  /**
   * How long to wait for a keepalive's answer.
   *
   * @return the timeout
   */
  public Duration keepaliveTimeout() {
    return values.keepaliveTimeout;
  }

  /**
   * Quiet time after which a pool stream gets a heartbeat.
   *
   * @return the interval
   */
  public Duration poolHeartbeatInterval() {
    return values.poolHeartbeatInterval;
  }

  /**
   * Interval at which the current catalog is repeated.
   *
   * @return the interval
   */
  public Duration catalogHeartbeatInterval() {
    return values.catalogHeartbeatInterval;
  }

  /**
   * Interval at which the current readiness is repeated.
   *
   * @return the interval
   */
  public Duration readinessHeartbeatInterval() {
    return values.readinessHeartbeatInterval;
  }

  /**
   * Length of a load window.
   *
   * @return the length
   */
  public Duration loadWindow() {
    return values.loadWindow;
  }

  /**
   * How many load windows a subscriber may be behind; a power of two.
   *
   * @return windows
   */
  public int loadFanoutCapacity() {
    int wanted = values.loadFanoutCapacity;
    return Integer.bitCount(wanted) == 1 ? wanted : Integer.highestOneBit(wanted) << 1;
  }

  /**
   * Most catalog streams at a time.
   *
   * @return streams
   */
  public int maxCatalogSubscribers() {
    return values.maxCatalogSubscribers;
  }

  /**
   * Most pool streams at a time.
   *
   * @return streams
   */
  public int maxPoolStreamsTotal() {
    return values.maxPoolStreamsTotal;
  }

  /**
   * Most readiness streams at a time.
   *
   * @return streams
   */
  public int maxReadinessSubscribers() {
    return values.maxReadinessSubscribers;
  }

  /**
   * Most load streams at a time.
   *
   * @return streams
   */
  public int maxLoadSubscribers() {
    return values.maxLoadSubscribers;
  }

  /** Collects limits. Not thread safe. */
  public static final class Builder {
    private int maxMessageBytes = 8 << 20;
    private Duration keepaliveInterval = Duration.ofSeconds(20);
    private Duration keepaliveTimeout = Duration.ofSeconds(10);
    private Duration poolHeartbeatInterval = Duration.ofSeconds(10);
    private Duration catalogHeartbeatInterval = Duration.ofSeconds(10);
    private Duration readinessHeartbeatInterval = Duration.ofSeconds(10);
    private Duration loadWindow = Duration.ofSeconds(1);
    private int loadFanoutCapacity = 16;
    private int maxCatalogSubscribers = 64;
    private int maxPoolStreamsTotal = 64;
    private int maxReadinessSubscribers = 64;
    private int maxLoadSubscribers = 64;

    private Builder() {}

    private Builder(Builder other) {
      this.maxMessageBytes = other.maxMessageBytes;
      this.keepaliveInterval = other.keepaliveInterval;
      this.keepaliveTimeout = other.keepaliveTimeout;
      this.poolHeartbeatInterval = other.poolHeartbeatInterval;
      this.catalogHeartbeatInterval = other.catalogHeartbeatInterval;
      this.readinessHeartbeatInterval = other.readinessHeartbeatInterval;
      this.loadWindow = other.loadWindow;
      this.loadFanoutCapacity = other.loadFanoutCapacity;
      this.maxCatalogSubscribers = other.maxCatalogSubscribers;
      this.maxPoolStreamsTotal = other.maxPoolStreamsTotal;
      this.maxReadinessSubscribers = other.maxReadinessSubscribers;
      this.maxLoadSubscribers = other.maxLoadSubscribers;
    }

    /**
     * Sets {@code max_message_bytes}.
     *
     * @param bytes at least {@link TransportLimits#MIN_MESSAGE_BYTES}
     * @return this
     */
    public Builder maxMessageBytes(int bytes) {
      this.maxMessageBytes = bytes;
      return this;
    }

    /**
     * Sets {@code keepalive_interval_ms}.
     *
     * @param interval positive, at most 365 days
     * @return this
     */
    public Builder keepaliveInterval(Duration interval) {
      this.keepaliveInterval = interval;
      return this;
    }

    /**
     * Sets {@code keepalive_timeout_ms}.
     *
     * @param timeout positive, at most 365 days
     * @return this
     */
    public Builder keepaliveTimeout(Duration timeout) {
      this.keepaliveTimeout = timeout;
      return this;
    }

    /**
     * Sets {@code pool_heartbeat_interval_ms}.
     *
     * @param interval positive, at most 365 days
     * @return this
     */
    public Builder poolHeartbeatInterval(Duration interval) {
      this.poolHeartbeatInterval = interval;
      return this;
    }

    /**
     * Sets {@code catalog_heartbeat_interval_ms}.
     *
     * @param interval positive, at most 365 days
     * @return this
     */
    public Builder catalogHeartbeatInterval(Duration interval) {
      this.catalogHeartbeatInterval = interval;
      return this;
    }

    /**
     * Sets {@code readiness_heartbeat_interval_ms}.
     *
     * @param interval positive, at most 365 days
     * @return this
     */
    public Builder readinessHeartbeatInterval(Duration interval) {
      this.readinessHeartbeatInterval = interval;
      return this;
    }

    /**
     * Sets {@code load_window_ms}.
     *
     * @param window positive, at most 365 days
     * @return this
     */
    public Builder loadWindow(Duration window) {
      this.loadWindow = window;
      return this;
    }

    /**
     * Sets {@code load_fanout_capacity}.
     *
     * @param windows 1..65536; rounded up to a power of two
     * @return this
     */
    public Builder loadFanoutCapacity(int windows) {
      this.loadFanoutCapacity = windows;
      return this;
    }

    /**
     * Sets {@code max_catalog_subscribers}.
     *
     * @param streams at least 1
     * @return this
     */
    public Builder maxCatalogSubscribers(int streams) {
      this.maxCatalogSubscribers = streams;
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
     * Sets {@code max_readiness_subscribers}.
     *
     * @param streams at least 1
     * @return this
     */
    public Builder maxReadinessSubscribers(int streams) {
      this.maxReadinessSubscribers = streams;
      return this;
    }

    /**
     * Sets {@code max_load_subscribers}.
     *
     * @param streams at least 1
     * @return this
     */
    public Builder maxLoadSubscribers(int streams) {
      this.maxLoadSubscribers = streams;
      return this;
    }

    /**
     * Checks and freezes the values.
     *
     * @return the limits
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the key and the value
     */
    public TransportLimits build() {
      atLeast("max_message_bytes", maxMessageBytes, MIN_MESSAGE_BYTES);
      timer("keepalive_interval_ms", keepaliveInterval);
      timer("keepalive_timeout_ms", keepaliveTimeout);
      timer("pool_heartbeat_interval_ms", poolHeartbeatInterval);
      timer("catalog_heartbeat_interval_ms", catalogHeartbeatInterval);
      timer("readiness_heartbeat_interval_ms", readinessHeartbeatInterval);
      timer("load_window_ms", loadWindow);
      atLeast("load_fanout_capacity", loadFanoutCapacity, 1);
      if (loadFanoutCapacity > MAX_FANOUT) {
        throw invalid("load_fanout_capacity", loadFanoutCapacity, "must be at most 65536");
      }
      atLeast("max_catalog_subscribers", maxCatalogSubscribers, 1);
      atLeast("max_pool_streams_total", maxPoolStreamsTotal, 1);
      atLeast("max_readiness_subscribers", maxReadinessSubscribers, 1);
      atLeast("max_load_subscribers", maxLoadSubscribers, 1);
      return new TransportLimits(this);
    }

    private static void atLeast(String key, int value, int minimum) {
      if (value < minimum) {
        throw invalid(key, value, "must be at least " + minimum);
      }
    }

    private static void timer(String key, Duration value) {
      boolean valid =
          !value.isNegative()
              && !value.isZero()
              && value.compareTo(Duration.ofMillis(MAX_TIMER_MILLIS)) <= 0;
      if (!valid) {
        throw invalid(key, value, "must be positive and at most 365 days");
      }
    }

    private static RelayException invalid(String key, Object value, String rule) {
      return new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION, key + " = " + value + ": " + rule);
    }
  }
}
