package io.kvrelay.api.runtime;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** An executor that fails on command, as a bounded one does that is full. */
final class RejectingExecutor implements Executor {
  private final Executor target;
  private int rejections;
  private @Nullable Error afterNext;

  RejectingExecutor(Executor target) {
    this.target = target;
  }

  /** The next task is rejected. */
  void rejectNext() {
    rejectNext(1);
  }

  /** The next tasks are rejected. */
  synchronized void rejectNext(int tasks) {
    rejections = tasks;
  }

  /** The next task is taken, and the caller hears the contrary. */
  synchronized void takeNextAndThrow(Error error) {
    afterNext = error;
  }

  @Override
  public synchronized void execute(Runnable task) {
    if (rejections > 0) {
      rejections--;
      throw new RejectedExecutionException("on purpose");
    }
    target.execute(task);
    Error error = afterNext;
    if (error != null) {
      afterNext = null;
      throw error;
    }
  }
}
