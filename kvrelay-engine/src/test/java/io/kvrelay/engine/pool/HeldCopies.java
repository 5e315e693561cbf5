package io.kvrelay.engine.pool;

import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.ForwardingRuntime;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** A virtual runtime that keeps snapshot copies back until it is told to run them. */
final class HeldCopies extends ForwardingRuntime {
  private final VirtualRuntime runtime;
  private final Queue<Runnable> held = new ArrayDeque<>();
  private boolean refusing;

  HeldCopies(VirtualRuntime runtime) {
    super(runtime);
    this.runtime = runtime;
  }

  int held() {
    return held.size();
  }

  void release() {
    held.remove().run();
    runtime.runUntilIdle();
  }

  /** From now on a copy is refused, as by a bounded executor that is full. */
  void refuse() {
    refusing = true;
  }

  @Override
  public Executor executor() {
    return task -> {
      if (task instanceof SnapshotCopy) {
        if (refusing) {
          throw new RejectedExecutionException("on purpose");
        }
        held.add(task);
      } else {
        runtime.executor().execute(task);
      }
    };
  }
}
