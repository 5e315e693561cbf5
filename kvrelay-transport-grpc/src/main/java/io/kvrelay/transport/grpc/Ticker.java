package io.kvrelay.transport.grpc;

import io.kvrelay.api.runtime.RelayRuntime;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Runs a task at an interval, first one interval after the start. Ticks that could not run in time
 * are not made up for: the next one comes a full interval after the late one. Thread safe.
 */
final class Ticker {
  private final RelayRuntime runtime;
  private final long intervalNanos;
  private final Runnable task;
  // Guarded by this.
  private RelayRuntime.@Nullable Timer timer;
  private long dueNanos;
  private boolean stopped;

  private Ticker(RelayRuntime runtime, Duration interval, Runnable task) {
    this.runtime = runtime;
    this.intervalNanos = Nanos.of(interval);
    this.task = task;
  }

  static Ticker start(RelayRuntime runtime, Duration interval, Runnable task) {
    Ticker ticker = new Ticker(runtime, interval, task);
    synchronized (ticker) {
      ticker.dueNanos = runtime.nanoTime() + ticker.intervalNanos;
      ticker.timer = runtime.schedule(ticker.intervalNanos, ticker::tick);
    }
    return ticker;
  }

  private void tick() {
    synchronized (this) {
      if (stopped) {
        return;
      }
    }
    task.run();
    synchronized (this) {
      if (stopped) {
        return;
      }
      long now = runtime.nanoTime();
      long delay = dueNanos + intervalNanos - now;
      if (delay <= 0) {
        delay = intervalNanos;
      }
      dueNanos = now + delay;
      timer = runtime.schedule(delay, this::tick);
    }
  }

  synchronized void stop() {
    stopped = true;
    if (timer != null) {
      timer.cancel();
    }
  }
}
