package io.kvrelay.engine.view;

import io.kvrelay.api.runtime.RelayRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * An operation on one lane that has an answer: it holds the lane's transition from admission to
 * answer, passes through the worker's queue behind the deltas before it, and waits for its place
 * and for its answer at most the control timeout each. It is answered once, by the worker, by a
 * timer or by the worker's end, whichever comes first.
 */
abstract class ControlCommand extends IngestCommand {
  private final IngestionPool pool;
  private final LaneAdmission admission;
  private final CompletableFuture<IngestOutcome> answer = new CompletableFuture<>();
  private final AtomicBoolean answered = new AtomicBoolean();
  private volatile RelayRuntime.@Nullable Timer timer;

  ControlCommand(IngestionPool pool, LaneAdmission admission) {
    this.pool = pool;
    this.admission = admission;
  }

  IngestionPool pool() {
    return pool;
  }

  LaneAdmission admission() {
    return admission;
  }

  /**
   * Checks, and changes what has to change before the worker is asked. With the admission lock
   * held.
   *
   * @throws LaneException if the operation is refused; nothing was changed then
   */
  abstract void admit();

  /** Carries the operation out on the worker and answers. */
  abstract void execute(LaneIngestor ingestor, IngestProbe probe);

  /** Whether the worker carries it out whatever became of the lane generation. */
  boolean ignoresEpoch() {
    return false;
  }

  /** Does what a command that ignores epochs does once its lane has no owner. */
  void carriedOut() {}

  /** Takes the lane's transition and starts. */
  CompletionStage<IngestOutcome> start() {
    admission.transition(this::begin);
    return answer;
  }

  private void begin() {
    IngestWorker worker;
    IngestWorker.Offer offer;
    try {
      synchronized (admission) {
        admit();
        worker = admission.worker();
        epoch = admission.epoch();
        lane = admission;
        listener = admission.listener();
        offer = worker.offer(this);
      }
    } catch (LaneException refused) {
      fail(refused);
      return;
    }
    if (offer == IngestWorker.Offer.FAILED) {
      failed(worker);
      return;
    }
    armTimeout();
    worker.wake();
  }

  /** The worker has ended; a release needs none. */
  void failed(IngestWorker worker) {
    fail(
        new LaneException(
            LaneError.WORKER_FAILED, "worker = " + worker.id() + ": failed or was shut down"));
  }

  /** The command has got its place in the queue after waiting for it: its answer's time starts. */
  final void queued() {
    armTimeout();
  }

  private void armTimeout() {
    if (ignoresEpoch()) {
      return;
    }
    RelayRuntime.Timer before = timer;
    timer = pool.afterControlTimeout(this::timedOut);
    if (before != null) {
      before.cancel();
    }
    if (answered.get()) {
      cancelTimer();
    }
  }

  private void timedOut() {
    if (!answered.compareAndSet(false, true)) {
      return;
    }
    admission.worker().withdraw(this);
    synchronized (admission) {
      if (admission.isAt(epoch) && admission.state() != LaneAdmission.State.RETIRED) {
        admission.retire();
      }
    }
    finish(
        null,
        new LaneException(
            LaneError.CONTROL_TIMEOUT,
            "lane = " + admission.lane() + ": no answer within " + pool.config().controlTimeout()));
  }

  final void succeed(IngestOutcome outcome) {
    if (answered.compareAndSet(false, true)) {
      finish(outcome, null);
    }
  }

  final void fail(LaneException error) {
    if (answered.compareAndSet(false, true)) {
      finish(null, error);
    }
  }

  private void finish(@Nullable IngestOutcome outcome, @Nullable LaneException error) {
    cancelTimer();
    if (error == null) {
      answer.complete(outcome);
    } else {
      answer.completeExceptionally(error);
    }
    admission.endTransition();
  }

  private void cancelTimer() {
    RelayRuntime.Timer armed = timer;
    if (armed != null) {
      armed.cancel();
    }
  }

  final LaneException retired() {
    return new LaneException(
        LaneError.LANE_RETIRED, "lane = " + admission.lane() + ": its generation ended");
  }

  /**
   * Answers with what the ingestor did. A lane generation that ended meanwhile makes every outcome
   * a refusal, except that a deactivation is reported as what it was.
   */
  final void answer(LaneIngestor ingestor, IngestResult result) {
    IngestOutcome outcome = ingestor.outcome(result);
    if (result == IngestResult.LANE_DEACTIVATED) {
      admission.worker().deactivated(ingestor, admission, this);
      succeed(outcome);
      return;
    }
    boolean current;
    synchronized (admission) {
      current = admission.isAt(epoch);
    }
    if (current) {
      succeed(outcome);
    } else {
      fail(retired());
    }
  }
}
