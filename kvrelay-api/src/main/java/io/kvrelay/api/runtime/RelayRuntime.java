package io.kvrelay.api.runtime;

import java.util.concurrent.Executor;

/**
 * Clock, executor, timer and random source. Thread safe. {@link SystemRuntime} is the real one,
 * {@link VirtualRuntime} a deterministic one.
 */
public interface RelayRuntime {
  /**
   * A monotonic clock; only differences mean something.
   *
   * @return nanoseconds
   */
  long nanoTime();

  /**
   * The wall clock, for metadata only.
   *
   * @return milliseconds since the epoch
   */
  long currentTimeMillis();

  /**
   * Where mailboxes and off-thread work run. Tasks are short and do not block. An executor that
   * rejects a task loses that turn of a mailbox, which then stands still until it is woken again.
   *
   * @return the executor
   */
  Executor executor();

  /**
   * Runs a task on the executor once a delay has passed.
   *
   * @param delayNanos nanoseconds; zero or less means as soon as possible
   * @param task the task
   * @return a handle to cancel it
   */
  Timer schedule(long delayNanos, Runnable task);

  /**
   * A random number, good enough for jitter and incarnations.
   *
   * @return 64 random bits
   */
  long randomLong();

  /** A scheduled task. */
  interface Timer {
    /** Keeps the task from running if it has not started. Idempotent. */
    void cancel();
  }
}
