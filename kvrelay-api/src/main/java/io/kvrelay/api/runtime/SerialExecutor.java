package io.kvrelay.api.runtime;

import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs tasks one after the other, in submission order, on another executor: one owner at a time
 * without a thread per object. The queue is unbounded; callers bound what they submit. A task that
 * throws is logged and does not stop its successors. What is queued while the target rejects tasks
 * runs once it takes a later one; once it is shut down the mailbox drops what it is given. Thread
 * safe.
 */
public final class SerialExecutor implements Executor {
  private static final System.Logger LOG = System.getLogger(SerialExecutor.class.getName());
  private static final int TASKS_PER_TURN = 64;

  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger pending = new AtomicInteger();
  private final SerialTask turn;
  private volatile boolean dead;

  /**
   * Creates a mailbox.
   *
   * @param target where its tasks run
   */
  public SerialExecutor(Executor target) {
    this.turn = new SerialTask(target, this::drain, this::die);
  }

  @Override
  public void execute(Runnable task) {
    if (dead) {
      return;
    }
    tasks.add(task);
    pending.getAndIncrement();
    turn.wake();
    if (dead) {
      tasks.clear();
    }
  }

  private void drain() {
    // A task is queued before it is counted, so the counted ones are there. A turn is bounded: no
    // mailbox starves another.
    int counted = Math.min(pending.get(), TASKS_PER_TURN);
    for (int i = 0; i < counted; i++) {
      runOne(Objects.requireNonNull(tasks.poll()));
    }
    if (pending.addAndGet(-counted) != 0) {
      turn.wake();
    }
  }

  private void die() {
    dead = true;
    tasks.clear(); // nothing is kept reachable by a mailbox that never runs again
  }

  private static void runOne(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "task of a serial executor failed", e);
    }
  }
}
