package io.kvrelay.engine.view;

import io.kvrelay.api.runtime.RelayRuntime;
import java.util.concurrent.TimeUnit;

/**
 * Delays before a stream is opened again: half of the current backoff plus a uniform jitter of up
 * to the other half, in whole milliseconds. The backoff doubles with each use up to a cap and
 * starts over after an attempt that lived long enough. Confined to its plane's mailbox.
 */
final class Backoff {
  static final long FIRST_MILLIS = 500;
  static final long CAP_MILLIS = 30_000;
  static final long RESET_AFTER_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final RelayRuntime runtime;
  private long millis = FIRST_MILLIS;

  Backoff(RelayRuntime runtime) {
    this.runtime = runtime;
  }

  /**
   * Draws the next delay.
   *
   * @param livedNanos how long the attempt that failed had lived
   */
  long nextDelayNanos(long livedNanos) {
    if (livedNanos >= RESET_AFTER_NANOS) {
      reset();
    }
    long half = millis / 2;
    long jitter = Long.remainderUnsigned(runtime.randomLong(), half + 1);
    millis = Math.min(2 * millis, CAP_MILLIS);
    return TimeUnit.MILLISECONDS.toNanos(half + jitter);
  }

  void reset() {
    millis = FIRST_MILLIS;
  }
}
