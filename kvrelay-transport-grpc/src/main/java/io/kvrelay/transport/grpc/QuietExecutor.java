package io.kvrelay.transport.grpc;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * The runtime's executor as a channel wants it. A channel outlives its {@code shutdownNow()} by a
 * moment, and takes a rejection for a panic; a host that stops the runtime meanwhile wants to hear
 * nothing, so a task that the runtime no longer takes is dropped.
 */
final class QuietExecutor implements Executor {
  private final Executor target;

  QuietExecutor(Executor target) {
    this.target = target;
  }

  @Override
  public void execute(Runnable task) {
    try {
      target.execute(task);
    } catch (RejectedExecutionException stopped) {
      // nothing runs any more
    }
  }
}
