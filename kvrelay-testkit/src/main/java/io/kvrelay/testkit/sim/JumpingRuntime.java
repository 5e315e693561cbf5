package io.kvrelay.testkit.sim;

import io.kvrelay.api.runtime.RelayRuntime;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A host whose clocks jump on command, over the runtime of all hosts of a simulation. Timers stay
 * with that runtime: after a jump they fire late, as those of a suspended machine do. Thread safe.
 */
public final class JumpingRuntime implements RelayRuntime {
  private final RelayRuntime runtime;
  private final AtomicLong aheadNanos = new AtomicLong();
  private final AtomicLong wallMillis = new AtomicLong();

  /**
   * A host whose clocks are those of the runtime until they jump.
   *
   * @param runtime executor, timers, randomness, and the clocks that do not jump
   */
  public JumpingRuntime(RelayRuntime runtime) {
    this.runtime = runtime;
  }

  /**
   * Moves both clocks forward, as if the host had been suspended.
   *
   * @param duration how far; a monotonic clock never goes back
   * @throws IllegalArgumentException if it is negative
   */
  public void suspend(Duration duration) {
    if (duration.isNegative()) {
      throw new IllegalArgumentException("duration = " + duration + ": must not be negative");
    }
    aheadNanos.addAndGet(duration.toNanos());
    wallMillis.addAndGet(duration.toMillis());
  }

  /**
   * Sets the wall clock forward or back, as an operator or a time daemon would.
   *
   * @param duration how far; negative for back
   */
  public void setWallClock(Duration duration) {
    wallMillis.addAndGet(duration.toMillis());
  }

  @Override
  public long nanoTime() {
    return runtime.nanoTime() + aheadNanos.get();
  }

  @Override
  public long currentTimeMillis() {
    return runtime.currentTimeMillis() + wallMillis.get();
  }

  @Override
  public Executor executor() {
    return runtime.executor();
  }

  @Override
  public Timer schedule(long delayNanos, Runnable task) {
    return runtime.schedule(delayNanos, task);
  }

  @Override
  public long randomLong() {
    return runtime.randomLong();
  }
}
