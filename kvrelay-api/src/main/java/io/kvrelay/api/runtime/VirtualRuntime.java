package io.kvrelay.api.runtime;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;

/**
 * A deterministic runtime for tests and simulations: time stands still unless it is advanced, and
 * tasks run on the thread that calls {@link #runUntilIdle()} or {@link #advance(Duration)}. With a
 * shuffling runtime the next task is picked at random from those that are ready, so that one seed
 * is one interleaving.
 *
 * <p>Tasks may be submitted from any thread; they run only on the driving thread, one at a time.
 */
public final class VirtualRuntime implements RelayRuntime {
  private static final long WALL_CLOCK_START_MILLIS = 1_700_000_000_000L;

  @SuppressWarnings("ArrayRecordComponent") // a flag shared with the handle, never compared
  private record Due(long atNanos, long order, Runnable task, boolean[] cancelled) {}

  private final SplittableRandom random;
  private final boolean shuffle;
  private final List<Runnable> ready = new ArrayList<>();
  private final PriorityQueue<Due> timers =
      new PriorityQueue<>(Comparator.comparingLong(Due::atNanos).thenComparingLong(Due::order));
  private long nowNanos;
  private long nextOrder;
  private boolean running;

  private VirtualRuntime(long seed, boolean shuffle) {
    this.random = new SplittableRandom(seed);
    this.shuffle = shuffle;
  }

  /**
   * A runtime that runs tasks in the order they came.
   *
   * @param seed seed of {@link #randomLong()}
   * @return the runtime
   */
  public static VirtualRuntime inOrder(long seed) {
    return new VirtualRuntime(seed, false);
  }

  /**
   * A runtime that picks the next ready task at random.
   *
   * @param seed seed of the picks and of {@link #randomLong()}
   * @return the runtime
   */
  public static VirtualRuntime shuffling(long seed) {
    return new VirtualRuntime(seed, true);
  }

  @Override
  public synchronized long nanoTime() {
    return nowNanos;
  }

  @Override
  public synchronized long currentTimeMillis() {
    return WALL_CLOCK_START_MILLIS + nowNanos / 1_000_000;
  }

  @Override
  public Executor executor() {
    return this::submit;
  }

  private synchronized void submit(Runnable task) {
    ready.add(task);
  }

  @Override
  public synchronized Timer schedule(long delayNanos, Runnable task) {
    boolean[] cancelled = {false};
    Due due = new Due(nowNanos + Math.max(0, delayNanos), nextOrder++, task, cancelled);
    timers.add(due);
    return () -> {
      synchronized (this) {
        cancelled[0] = true;
        timers.remove(due);
      }
    };
  }

  @Override
  public synchronized long randomLong() {
    return random.nextLong();
  }

  /**
   * Number of timers that have not fired and are not cancelled.
   *
   * @return timers
   */
  public synchronized int pendingTimers() {
    return timers.size();
  }

  /**
   * Number of tasks that could run now.
   *
   * @return tasks
   */
  public synchronized int readyTasks() {
    return ready.size();
  }

  /**
   * Runs one ready task.
   *
   * @return false if there was none
   */
  public boolean runOne() {
    Runnable task;
    synchronized (this) {
      fireDue();
      if (ready.isEmpty()) {
        return false;
      }
      task = ready.remove(shuffle ? random.nextInt(ready.size()) : 0);
    }
    task.run();
    return true;
  }

  /**
   * Runs ready tasks, and what they submit, until none is left. Time does not move. A call from
   * within a task does nothing.
   */
  public void runUntilIdle() {
    synchronized (this) {
      if (running) {
        return;
      }
      running = true;
    }
    try {
      while (runOne()) {
        // each step runs one task
      }
    } finally {
      synchronized (this) {
        running = false;
      }
    }
  }

  /**
   * Runs what is ready, then moves time forward timer by timer, running what becomes ready at each.
   *
   * @param duration how far; not negative
   */
  public void advance(Duration duration) {
    long target;
    synchronized (this) {
      target = nowNanos + duration.toNanos();
    }
    runUntilIdle();
    while (stepTo(target)) {
      runUntilIdle();
    }
  }

  private synchronized boolean stepTo(long target) {
    Due next = timers.peek();
    if (next == null || next.atNanos() > target) {
      nowNanos = target;
      return false;
    }
    nowNanos = Math.max(nowNanos, next.atNanos());
    fireDue();
    return true;
  }

  private void fireDue() {
    while (!timers.isEmpty() && timers.element().atNanos() <= nowNanos) {
      Due due = timers.remove();
      ready.add(() -> runUnlessCancelled(due));
    }
  }

  private void runUnlessCancelled(Due due) {
    synchronized (this) {
      if (due.cancelled()[0]) {
        return;
      }
      due.cancelled()[0] = true;
    }
    due.task().run();
  }
}
