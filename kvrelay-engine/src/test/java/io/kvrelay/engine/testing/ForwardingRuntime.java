package io.kvrelay.engine.testing;

import io.kvrelay.api.runtime.RelayRuntime;
import java.util.concurrent.Executor;

/** Another runtime, except for what a test makes of it. */
public class ForwardingRuntime implements RelayRuntime {
  private final RelayRuntime target;

  /** Forwards everything. */
  public ForwardingRuntime(RelayRuntime target) {
    this.target = target;
  }

  @Override
  public long nanoTime() {
    return target.nanoTime();
  }

  @Override
  public long currentTimeMillis() {
    return target.currentTimeMillis();
  }

  @Override
  public Executor executor() {
    return target.executor();
  }

  @Override
  public Timer schedule(long delayNanos, Runnable task) {
    return target.schedule(delayNanos, task);
  }

  @Override
  public long randomLong() {
    return target.randomLong();
  }
}
