package io.kvrelay.engine.pool;

import io.kvrelay.api.runtime.RelayRuntime;
import org.jspecify.annotations.Nullable;

/**
 * The delay after which a lone event is published. Arming and disarming cost nothing most of the
 * time: one timer of the runtime stays scheduled across them and looks, when it fires, whether
 * there is anything left to wait for. Used by the pool's owner; only the runtime's timer comes from
 * another thread.
 */
final class PublicationTimer {
  private final RelayRuntime runtime;
  private final long delayNanos;
  private final Runnable wake;

  private boolean armed;
  private long deadline;
  private boolean scheduled;
  private RelayRuntime.@Nullable Timer pending;
  private volatile boolean fired;

  PublicationTimer(RelayRuntime runtime, long delayNanos, Runnable wake) {
    this.runtime = runtime;
    this.delayNanos = delayNanos;
    this.wake = wake;
  }

  /** Starts the delay unless it runs already. */
  void arm() {
    if (!armed) {
      armed = true;
      deadline = runtime.nanoTime() + delayNanos;
      if (!scheduled) {
        schedule(delayNanos);
      }
    }
  }

  void disarm() {
    armed = false;
  }

  /** For the last time: nothing stays scheduled. */
  void close() {
    armed = false;
    RelayRuntime.Timer timer = pending;
    if (timer != null) {
      timer.cancel();
    }
  }

  /** Whether the delay is over; true once, and disarms. */
  boolean isDue() {
    if (!fired) {
      return false;
    }
    fired = false;
    scheduled = false;
    if (!armed) {
      return false;
    }
    long left = deadline - runtime.nanoTime();
    if (left > 0) {
      schedule(left);
      return false;
    }
    armed = false;
    return true;
  }

  private void schedule(long nanos) {
    scheduled = true;
    pending = runtime.schedule(nanos, this::fire);
  }

  private void fire() {
    fired = true;
    wake.run();
  }
}
