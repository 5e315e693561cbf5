package io.kvrelay.api.runtime;

import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One task that runs after it was woken, never twice at a time, and once more if it was woken while
 * it ran: one owner of some state, without a thread and without a queue. What a caller wrote before
 * {@link #wake()} is visible to the run that follows. Waking allocates nothing.
 *
 * <p>A task that throws is logged and stays usable. Once the target rejects it, it never runs
 * again. Thread safe.
 */
public final class SerialTask {
  private static final System.Logger LOG = System.getLogger(SerialTask.class.getName());

  private static final int IDLE = 0;
  private static final int SCHEDULED = 1;
  private static final int RUNNING = 2;
  private static final int RUNNING_AND_WOKEN = 3;

  private final Executor target;
  private final Runnable body;
  private final Runnable turn = this::turn;
  private final AtomicInteger state = new AtomicInteger(IDLE);

  /**
   * Creates an idle task.
   *
   * @param target where it runs
   * @param body what it does; short, and does not block
   */
  public SerialTask(Executor target, Runnable body) {
    this.target = target;
    this.body = body;
  }

  /** Makes the task run soon, once for any number of calls before it starts. */
  public void wake() {
    if (state.getAndUpdate(SerialTask::woken) == IDLE) {
      schedule();
    }
  }

  // A wake is a read-modify-write even where the state stays: it orders the waker's writes before
  // the run.
  private static int woken(int state) {
    return state == IDLE ? SCHEDULED : state == RUNNING ? RUNNING_AND_WOKEN : state;
  }

  private static int ran(int state) {
    return state == RUNNING ? IDLE : SCHEDULED;
  }

  private void schedule() {
    try {
      target.execute(turn);
    } catch (RejectedExecutionException stopped) {
      LOG.log(Level.DEBUG, "a stopped executor runs no more tasks", stopped);
    }
  }

  private void turn() {
    state.getAndSet(RUNNING);
    try {
      body.run();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "a serial task failed", e);
    }
    if (state.updateAndGet(SerialTask::ran) == SCHEDULED) {
      schedule();
    }
  }
}
