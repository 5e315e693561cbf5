package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * What a pool knows of one lane before its worker does: which lease may submit, how much of it
 * waits, and since when. Lives as long as the pool, over every release and rebinding of the lane,
 * so that assignment epochs never repeat.
 *
 * <p>The admission epoch is internal and not the lease's: it grows with every assignment and every
 * retirement, and a command that carries an older one is dropped by the worker.
 *
 * <pre>
 * field            mode       guarded by
 * publishedEpoch   volatile   written under the monitor, read by the worker
 * fenced           volatile   written under the monitor, read by the worker
 * worker           volatile   written under the monitor, by assignment of the transition's owner
 * all others       plain      the monitor (the admission lock); transitions: their own monitor
 * </pre>
 */
final class LaneAdmission {
  /** Where the lane generation stands. */
  enum State {
    UNASSIGNED,
    TRANSITIONING,
    AWAITING_SNAPSHOT,
    ACTIVE,
    RETIRED
  }

  private final LaneIndex index;
  private final int lane;
  private final OutstandingDeltas outstanding;

  private State state = State.UNASSIGNED;
  private @Nullable LaneLease lease;
  private LaneListener listener = LaneListener.NONE;
  private long epoch;
  private boolean hasAssignmentEpoch;
  private long lastAssignmentEpoch;
  private long nextReservedEpoch;
  private long nextDeltaId;
  private volatile long publishedEpoch;
  private volatile boolean fenced;
  private volatile IngestWorker worker;

  private final ArrayDeque<Runnable> transitions = new ArrayDeque<>();
  private boolean transitionRunning;

  LaneAdmission(LaneIndex index, int lane, IngestWorker worker, int queueCapacity) {
    this.index = index;
    this.lane = lane;
    this.worker = worker;
    // A full queue, the delta under way, and the one that is about to find the queue full.
    this.outstanding = new OutstandingDeltas(queueCapacity + 2);
  }

  int lane() {
    return lane;
  }

  IngestWorker worker() {
    return worker;
  }

  void route(IngestWorker newWorker) {
    worker = newWorker;
  }

  long publishedEpoch() {
    return publishedEpoch;
  }

  boolean isFenced() {
    return fenced;
  }

  // Everything below is called with the monitor held.

  State state() {
    return state;
  }

  @Nullable LaneLease lease() {
    return lease;
  }

  LaneListener listener() {
    return listener;
  }

  long epoch() {
    return epoch;
  }

  OutstandingDeltas outstanding() {
    return outstanding;
  }

  boolean hasAssignmentEpoch() {
    return hasAssignmentEpoch;
  }

  long lastAssignmentEpoch() {
    return lastAssignmentEpoch;
  }

  boolean holds(LaneLease other) {
    return lease != null && lease.equals(other);
  }

  /** A retirement that is still the caller's business: nobody moved the epoch since. */
  boolean isAt(long callersEpoch) {
    return !fenced && epoch == callersEpoch;
  }

  void checkAssignment(ProducerIdentity identity, LaneLease newLease) {
    LaneIngestor.checkAssignment(
        index.manifest(), lane, identity, newLease, hasAssignmentEpoch, lastAssignmentEpoch);
  }

  /** The lane is not readable before its lease changes. False if its epochs are used up. */
  boolean beginAssignment(LaneLease newLease, LaneListener newListener) {
    if (fenced || !advanceEpoch()) {
      return false;
    }
    index.withdraw(lane);
    state = State.TRANSITIONING;
    lease = newLease;
    listener = newListener;
    return true;
  }

  void assigned(LaneLease newLease) {
    state = State.AWAITING_SNAPSHOT;
    hasAssignmentEpoch = true;
    lastAssignmentEpoch = newLease.assignmentEpoch();
  }

  /** An epoch that no lease of this lane had: the wanted one or the next that was not given out. */
  long reserveAssignmentEpoch(long wanted) {
    long reserved =
        Long.compareUnsigned(wanted, nextReservedEpoch) > 0 ? wanted : nextReservedEpoch;
    nextReservedEpoch = reserved + 1;
    return reserved;
  }

  /** An ingestor was let go of; the lane's next one goes on above its epochs. */
  void rememberEpochOf(LaneIngestor ingestor) {
    if (ingestor.hasEpoch()
        && (!hasAssignmentEpoch
            || Long.compareUnsigned(ingestor.lastEpoch(), lastAssignmentEpoch) > 0)) {
      hasAssignmentEpoch = true;
      lastAssignmentEpoch = ingestor.lastEpoch();
    }
  }

  void activated() {
    state = State.ACTIVE;
  }

  /** Ends the lane generation: not readable, no lease, whatever is queued is dropped. */
  void retire() {
    state = State.RETIRED;
    lease = null;
    index.withdraw(lane);
    if (!fenced) {
      advanceEpoch();
    }
  }

  /** Back to the beginning, for another pool; epochs go on. */
  void unassign() {
    retire();
    state = State.UNASSIGNED;
    listener = LaneListener.NONE;
  }

  private boolean advanceEpoch() {
    if (epoch == -1) { // 2^64 - 1: no epoch is left to tell old work from new
      fenced = true;
      state = State.RETIRED;
      lease = null;
      index.withdraw(lane);
      return false;
    }
    epoch++;
    publishedEpoch = epoch;
    return true;
  }

  /** A number for the next delta. False if they are used up; the lane is fenced then. */
  boolean numberDelta(LaneDelta delta) {
    if (nextDeltaId == -1) {
      fenced = true;
      retire();
      return false;
    }
    delta.deltaId = nextDeltaId++;
    delta.epoch = epoch;
    delta.lane = this;
    delta.listener = listener;
    return true;
  }

  /** For tests of what happens at the end of all numbers. */
  void setCounters(long newEpoch, long newNextDeltaId) {
    epoch = newEpoch;
    publishedEpoch = newEpoch;
    nextDeltaId = newNextDeltaId;
  }

  // Transitions: control operations of one lane, one after the other, each for its whole duration.

  /** Runs an operation now, or once those before it have called {@link #endTransition}. */
  void transition(Runnable operation) {
    synchronized (transitions) {
      if (transitionRunning) {
        transitions.add(operation);
        return;
      }
      transitionRunning = true;
    }
    operation.run();
  }

  void endTransition() {
    Runnable next;
    synchronized (transitions) {
      next = transitions.poll();
      transitionRunning = next != null;
    }
    if (next != null) {
      next.run();
    }
  }
}
