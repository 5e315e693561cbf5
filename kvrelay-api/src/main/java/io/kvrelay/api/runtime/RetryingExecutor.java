package io.kvrelay.api.runtime;

import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Hands tasks to a host's executor. What a full one rejects is handed over again after a
 * millisecond, then ever later up to a second, until the executor takes it or is shut down: a
 * mailbox whose turn was lost would stand still until somebody happens to wake it. Thread safe.
 */
final class RetryingExecutor implements Executor {
  private static final System.Logger LOG = System.getLogger(SystemRuntime.class.getName());
  private static final long FIRST_DELAY_NANOS = 1_000_000;
  private static final long LONGEST_DELAY_NANOS = 1_000_000_000;

  private final Executor target;
  private final ScheduledExecutorService timer;
  private final AtomicBoolean warned = new AtomicBoolean();

  RetryingExecutor(Executor target, ScheduledExecutorService timer) {
    this.target = target;
    this.timer = timer;
  }

  @Override
  public void execute(Runnable task) {
    attempt(task, FIRST_DELAY_NANOS);
  }

  private void attempt(Runnable task, long retryDelayNanos) {
    try {
      target.execute(task);
    } catch (RejectedExecutionException rejected) {
      if (ExecutorStoppedException.isForGood(rejected, target)) {
        throw new ExecutorStoppedException(rejected);
      }
      retry(task, retryDelayNanos, rejected);
    }
  }

  private void retry(Runnable task, long delayNanos, RejectedExecutionException rejected) {
    if (!warned.getAndSet(true)) {
      LOG.log(Level.WARNING, "the executor rejects tasks; they are handed over later", rejected);
    }
    long next = Math.min(2 * delayNanos, LONGEST_DELAY_NANOS);
    try {
      Future<?> unused =
          timer.schedule(() -> attempt(task, next), delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      throw new ExecutorStoppedException(closed); // without a timer nobody tries again
    }
  }
}
