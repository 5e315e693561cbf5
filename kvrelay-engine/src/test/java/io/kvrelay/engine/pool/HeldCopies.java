package io.kvrelay.engine.pool;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/** A virtual runtime that keeps snapshot copies back until it is told to run them. */
final class HeldCopies implements RelayRuntime {
  private final VirtualRuntime runtime;
  private final Queue<Runnable> held = new ArrayDeque<>();

  HeldCopies(VirtualRuntime runtime) {
    this.runtime = runtime;
  }

  int held() {
    return held.size();
  }

  void release() {
    held.remove().run();
    runtime.runUntilIdle();
  }

  @Override
  public Executor executor() {
    return task -> {
      if (task instanceof SnapshotCopy) {
        held.add(task);
      } else {
        runtime.executor().execute(task);
      }
    };
  }

  @Override
  public long nanoTime() {
    return runtime.nanoTime();
  }

  @Override
  public long currentTimeMillis() {
    return runtime.currentTimeMillis();
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
