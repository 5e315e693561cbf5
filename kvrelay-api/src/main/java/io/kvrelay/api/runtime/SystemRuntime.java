package io.kvrelay.api.runtime;

import java.security.SecureRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The real runtime: the system clocks, one timer thread, and either a worker pool of its own or the
 * host's executor. All its threads are daemons and end with {@link #close()}; a host executor is
 * left running.
 */
public final class SystemRuntime implements RelayRuntime, AutoCloseable {
  private final @Nullable ExecutorService ownedExecutor;
  private final Executor executor;
  private final ScheduledThreadPoolExecutor timer;
  private final SecureRandom random = new SecureRandom();

  private SystemRuntime(@Nullable ExecutorService owned, Executor executor, ThreadFactory threads) {
    this.ownedExecutor = owned;
    this.timer = new ScheduledThreadPoolExecutor(1, threads);
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    this.executor = new RetryingExecutor(executor, timer);
  }

  /**
   * A runtime with a worker pool of its own, one thread per processor and at least two.
   *
   * @return the runtime; close it
   */
  public static SystemRuntime create() {
    return create(Math.max(2, Runtime.getRuntime().availableProcessors()));
  }

  /**
   * A runtime with a worker pool of its own.
   *
   * @param workers number of worker threads, at least 1
   * @return the runtime; close it
   */
  public static SystemRuntime create(int workers) {
    ExecutorService pool = Executors.newFixedThreadPool(workers, daemons("kvrelay-worker-"));
    return new SystemRuntime(pool, pool, daemons("kvrelay-timer-"));
  }

  /**
   * A runtime over the host's executor. A task that it rejects is handed to it again, after a
   * millisecond at first and every second in the end, until it takes it or is shut down.
   *
   * @param executor where tasks run; not shut down by {@link #close()}
   * @param timerThreads makes the one timer thread
   * @return the runtime; close it
   */
  public static SystemRuntime over(Executor executor, ThreadFactory timerThreads) {
    return new SystemRuntime(null, executor, timerThreads);
  }

  private static ThreadFactory daemons(String prefix) {
    AtomicInteger next = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, prefix + next.getAndIncrement());
      thread.setDaemon(true);
      return thread;
    };
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long currentTimeMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public Executor executor() {
    return executor;
  }

  @Override
  public Timer schedule(long delayNanos, Runnable task) {
    Cancellable once = new Cancellable(task);
    try {
      ScheduledFuture<?> future =
          timer.schedule(() -> hand(once), Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
      return () -> {
        once.cancelled = true; // it may have left the timer
        future.cancel(false);
      };
    } catch (RejectedExecutionException closed) {
      return () -> {}; // a closed runtime runs nothing any more
    }
  }

  private void hand(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException stopped) {
      // the executor was shut down: nothing runs any more
    }
  }

  private static final class Cancellable implements Runnable {
    private final Runnable task;
    private volatile boolean cancelled;

    Cancellable(Runnable task) {
      this.task = task;
    }

    @Override
    public void run() {
      if (!cancelled) {
        task.run();
      }
    }
  }

  @Override
  public long randomLong() {
    return random.nextLong();
  }

  /**
   * Stops the timer and the pool this runtime owns, and waits up to five seconds for their running
   * tasks.
   */
  @Override
  public void close() {
    timer.shutdownNow();
    ExecutorService owned = ownedExecutor;
    boolean interrupted = false;
    try {
      timer.awaitTermination(5, TimeUnit.SECONDS);
      if (owned != null) {
        owned.shutdown();
        if (!owned.awaitTermination(5, TimeUnit.SECONDS)) {
          owned.shutdownNow();
        }
      }
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
