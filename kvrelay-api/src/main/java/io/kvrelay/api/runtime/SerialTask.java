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
 * <p>A task that throws is logged and stays usable. If the target rejects it, the next wake tries
 * again; once the target is shut down it never runs again. Thread safe.
 *
 * <pre>
 *   state               meaning                              a wake          a turn
 *   IDLE                nothing to do, or was rejected       to SCHEDULED    does nothing
 *   SCHEDULED           the target has it                    -               to RUNNING
 *   RUNNING             the body runs                        to the next     -
 *   RUNNING_AND_WOKEN   the body runs, and has to run again  -               -
 * </pre>
 */
public final class SerialTask {
  private static final System.Logger LOG = System.getLogger(SerialTask.class.getName());

  private static final int IDLE = 0;
  private static final int SCHEDULED = 1;
  private static final int RUNNING = 2;
  private static final int RUNNING_AND_WOKEN = 3;

  private final Executor target;
  private final Runnable body;
  private final Runnable whenStopped;
  private final Runnable turn = this::turn;
  private final AtomicInteger state = new AtomicInteger(IDLE);

  /**
   * Creates an idle task.
   *
   * @param target where it runs
   * @param body what it does; short, and does not block
   */
  public SerialTask(Executor target, Runnable body) {
    this(target, body, () -> {});
  }

  /** Creates an idle task that tells once the target was shut down. */
  SerialTask(Executor target, Runnable body, Runnable whenStopped) {
    this.target = target;
    this.body = body;
    this.whenStopped = whenStopped;
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
    } catch (RejectedExecutionException rejected) {
      rejected(rejected);
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "the executor of a serial task failed", e);
      state.compareAndSet(SCHEDULED, IDLE);
    }
  }

  private void rejected(RejectedExecutionException rejected) {
    LOG.log(Level.DEBUG, "the executor of a serial task rejects it", rejected);
    if (ExecutorStoppedException.isForGood(rejected, target)) {
      whenStopped.run();
    } else {
      state.compareAndSet(SCHEDULED, IDLE);
    }
  }

  private void turn() {
    if (!state.compareAndSet(SCHEDULED, RUNNING)) {
      return; // an executor that failed after it had taken the task: a later wake has its own turn
    }
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
