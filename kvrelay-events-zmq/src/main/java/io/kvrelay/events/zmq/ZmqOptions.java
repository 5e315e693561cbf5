package io.kvrelay.events.zmq;

import java.time.Duration;

/** How sockets behave. Immutable; {@link #DEFAULT} fits most deployments. */
public final class ZmqOptions {
  /** The defaults that the builder's methods name. */
  public static final ZmqOptions DEFAULT = builder().build();

  private final int concurrentReplays;
  private final Duration replayJitter;
  private final Duration replayTimeout;
  private final Duration reconnectFirst;
  private final Duration reconnectCap;
  private final Duration heartbeat;
  private final int receiveQueue;
  private final int maxMessageBytes;

  private ZmqOptions(Builder b) {
    this.concurrentReplays = b.concurrentReplays;
    this.replayJitter = b.replayJitter;
    this.replayTimeout = b.replayTimeout;
    this.reconnectFirst = b.reconnectFirst;
    this.reconnectCap = b.reconnectCap;
    this.heartbeat = b.heartbeat;
    this.receiveQueue = b.receiveQueue;
    this.maxMessageBytes = b.maxMessageBytes;
  }

  /**
   * Starts with the defaults.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects options. Not thread safe. */
  public static final class Builder {
    private int concurrentReplays = 8;
    private Duration replayJitter = Duration.ofMillis(50);
    private Duration replayTimeout = Duration.ofSeconds(5);
    private Duration reconnectFirst = Duration.ofMillis(100);
    private Duration reconnectCap = Duration.ofSeconds(5);
    private Duration heartbeat = Duration.ofSeconds(2);
    private int receiveQueue = 100_000;
    private int maxMessageBytes = 64 << 20;

    private Builder() {}

    /**
     * Bounds the replays under way at once. Default: 8.
     *
     * @param concurrentReplays positive
     * @return this
     */
    public Builder concurrentReplays(int concurrentReplays) {
      this.concurrentReplays = concurrentReplays;
      return this;
    }

    /**
     * Sets the longest delay of chance before a replay. Default: 50 ms.
     *
     * @param replayJitter not negative
     * @return this
     */
    public Builder replayJitter(Duration replayJitter) {
      this.replayJitter = replayJitter;
      return this;
    }

    /**
     * Sets how long a replay may say nothing before it is taken up again. Default: 5 s.
     *
     * @param replayTimeout positive
     * @return this
     */
    public Builder replayTimeout(Duration replayTimeout) {
      this.replayTimeout = replayTimeout;
      return this;
    }

    /**
     * Sets the waits between connection attempts, which double, with jitter. Default: 100 ms to 5
     * s.
     *
     * @param first the first wait, positive
     * @param cap the longest one, not below the first
     * @return this
     */
    public Builder reconnect(Duration first, Duration cap) {
      this.reconnectFirst = first;
      this.reconnectCap = cap;
      return this;
    }

    /**
     * Sets how often a silent peer is asked whether it is there; after two and a half of these it
     * is taken for lost. Default: 2 s.
     *
     * @param heartbeat positive
     * @return this
     */
    public Builder heartbeat(Duration heartbeat) {
      this.heartbeat = heartbeat;
      return this;
    }

    /**
     * Bounds the messages that wait on a socket; what comes then is lost, and shows as a gap.
     * Default: 100,000.
     *
     * @param receiveQueue positive
     * @return this
     */
    public Builder receiveQueue(int receiveQueue) {
      this.receiveQueue = receiveQueue;
      return this;
    }

    /**
     * Bounds one message; a peer that sends more is disconnected. Default: 64 MiB.
     *
     * @param maxMessageBytes positive
     * @return this
     */
    public Builder maxMessageBytes(int maxMessageBytes) {
      this.maxMessageBytes = maxMessageBytes;
      return this;
    }

    /**
     * Creates the options.
     *
     * @return the options
     * @throws IllegalArgumentException naming the value that is not acceptable
     */
    public ZmqOptions build() {
      positive("concurrentReplays", concurrentReplays);
      positive("receiveQueue", receiveQueue);
      positive("maxMessageBytes", maxMessageBytes);
      positive("replayTimeout", replayTimeout.toMillis());
      positive("reconnectFirst", reconnectFirst.toMillis());
      positive("heartbeat", heartbeat.toMillis());
      check(!replayJitter.isNegative(), "replayJitter", replayJitter, "must not be negative");
      check(
          reconnectCap.compareTo(reconnectFirst) >= 0,
          "reconnectCap",
          reconnectCap,
          "must not be below " + reconnectFirst);
      return new ZmqOptions(this);
    }

    private static void positive(String field, long value) {
      check(value > 0 && value <= Integer.MAX_VALUE, field, value, "must be 1..2147483647");
    }

    private static void check(boolean condition, String field, Object value, String rule) {
      if (!condition) {
        throw new IllegalArgumentException(field + " = " + value + ": " + rule);
      }
    }
  }

  int concurrentReplays() {
    return concurrentReplays;
  }

  Duration replayJitter() {
    return replayJitter;
  }

  Duration replayTimeout() {
    return replayTimeout;
  }

  Duration reconnectFirst() {
    return reconnectFirst;
  }

  Duration reconnectCap() {
    return reconnectCap;
  }

  Duration heartbeat() {
    return heartbeat;
  }

  int receiveQueue() {
    return receiveQueue;
  }

  int maxMessageBytes() {
    return maxMessageBytes;
  }
}
