package io.kvrelay.transport.grpc;

import java.time.Duration;

/** Durations as nanoseconds. */
final class Nanos {
  private Nanos() {}

  /** Saturating; 365 days, the longest timer, is far from it. */
  static long of(Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException tooLong) {
      return Long.MAX_VALUE;
    }
  }
}
