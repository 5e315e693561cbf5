package io.kvrelay.api.runtime;

import java.time.Duration;

/**
 * Delays that double: the first, twice that, and so on up to a cap, until something goes well. Not
 * thread safe.
 */
public final class RetryDelay {
  private final long firstNanos;
  private final long capNanos;
  private long nextNanos;

  /**
   * Creates it at its first delay.
   *
   * @param first the first delay, positive
   * @param cap the longest one, not below the first
   * @throws IllegalArgumentException if the bounds are not acceptable
   */
  public RetryDelay(Duration first, Duration cap) {
    if (first.isNegative() || first.isZero() || cap.compareTo(first) < 0) {
      throw new IllegalArgumentException(
          "first = " + first + ", cap = " + cap + ": must be positive and in order");
    }
    this.firstNanos = first.toNanos();
    this.capNanos = cap.toNanos();
    this.nextNanos = firstNanos;
  }

  /**
   * 100 milliseconds, doubling to 5 seconds: how this project waits for its own deployment.
   *
   * @return a new instance
   */
  public static RetryDelay local() {
    return new RetryDelay(Duration.ofMillis(100), Duration.ofSeconds(5));
  }

  /**
   * Takes the delay that is due now and doubles the one after it.
   *
   * @return nanoseconds
   */
  public long takeNanos() {
    long due = nextNanos;
    nextNanos = nextNanos > capNanos / 2 ? capNanos : nextNanos * 2;
    return due;
  }

  /** Something went well: starts over with the first delay. */
  public void reset() {
    nextNanos = firstNanos;
  }
}
