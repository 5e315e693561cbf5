package io.kvrelay.api.runtime;

import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs tasks one after the other, in submission order, on another executor: one owner at a time
 * without a thread per object. The queue is unbounded; callers bound what they submit. A task that
 * throws is logged and does not stop its successors. Once the target rejects tasks the mailbox is
 * dead and drops what it is given. Thread safe.
 */
public final class SerialExecutor implements Executor {
  private static final System.Logger LOG = System.getLogger(SerialExecutor.class.getName());
  private static final int TASKS_PER_TURN = 64;

  private final Executor target;
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger pending = new AtomicInteger();
  private volatile boolean dead;

  /**
   * Creates a mailbox.
   *
   * @param target where its tasks run
   */
  public SerialExecutor(Executor target) {
    this.target = target;
  }

  @Override
  public void execute(Runnable task) {
    if (dead) {
      return;
    }
    tasks.add(task);
    if (pending.getAndIncrement() == 0) {
      schedule();
    }
  }

  private void schedule() {
    try {
      target.execute(this::drain);
    } catch (RejectedExecutionException stopped) {
      LOG.log(Level.DEBUG, "a stopped executor runs no more tasks", stopped);
      dead = true;
      tasks.clear(); // nothing is kept reachable by a mailbox that never runs again
    }
  }

  private void drain() {
    // A task is queued before it is counted, so the counted ones are there. A turn is bounded: no
    // mailbox starves another.
    int turn = Math.min(pending.get(), TASKS_PER_TURN);
    for (int i = 0; i < turn; i++) {
      runOne(Objects.requireNonNull(tasks.poll()));
    }
    // Whoever takes the counter from zero schedules, so there is at most one drain at a time.
    if (pending.addAndGet(-turn) != 0) {
      schedule();
    }
  }

  private static void runOne(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "task of a serial executor failed", e);
    }
  }
}
