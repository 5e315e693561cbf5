package io.kvrelay.api.runtime;

import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;

/**
 * A rejection for good, unlike that of a bounded executor that is full: the executor was shut down.
 */
final class ExecutorStoppedException extends RejectedExecutionException {
  private static final long serialVersionUID = 1L;

  ExecutorStoppedException(RejectedExecutionException cause) {
    super("the executor was shut down", cause);
  }

  /** Whether the executor will never take a task again. */
  static boolean isForGood(RejectedExecutionException rejection, Executor from) {
    return rejection instanceof ExecutorStoppedException
        || (from instanceof ExecutorService service && service.isShutdown());
  }
}
