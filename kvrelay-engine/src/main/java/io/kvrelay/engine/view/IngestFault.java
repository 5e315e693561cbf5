package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import org.jspecify.annotations.Nullable;

/**
 * A lane or a worker that failed. A report for people and for whoever owns the stream; what may be
 * read is decided by the ready mask alone.
 *
 * @param kind what happened
 * @param worker the worker
 * @param lane the lane, or -1 if it concerns all lanes of the worker
 * @param lease the lane's lease when it happened, or null if it had none
 * @param cause what was wrong with the input; only for {@link Kind#LANE_DEACTIVATED}
 * @param disposition whose failure it is and what to do
 * @param requested images that would have waited; only for {@link Kind#OUTSTANDING_IMAGE_LIMIT}
 * @param limit the bound on them
 */
record IngestFault(
    Kind kind,
    int worker,
    int lane,
    @Nullable LaneLease lease,
    @Nullable LaneFault cause,
    FailurePoint disposition,
    long requested,
    long limit) {

  /** What happened. */
  enum Kind {
    LANE_DEACTIVATED(FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE),
    SATURATED(FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE),
    OUTSTANDING_IMAGE_LIMIT(FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE),
    DIRTY_TO_APPLIED_AGE_EXCEEDED(FailurePoint.WORKER_FAILURE_MID_APPLY),
    WORKER_FAILED(FailurePoint.WORKER_FAILURE_MID_APPLY);

    private final FailurePoint disposition;

    Kind(FailurePoint disposition) {
      this.disposition = disposition;
    }
  }

  static IngestFault deactivated(
      LaneAdmission lane, @Nullable LaneLease lease, LaneFault cause, FailurePoint disposition) {
    return new IngestFault(
        Kind.LANE_DEACTIVATED, lane.worker().id(), lane.lane(), lease, cause, disposition, 0, 0);
  }

  static IngestFault refused(
      Kind kind, LaneAdmission lane, @Nullable LaneLease lease, long requested, long limit) {
    return new IngestFault(
        kind, lane.worker().id(), lane.lane(), lease, null, kind.disposition, requested, limit);
  }

  static IngestFault workerFailed(int worker) {
    Kind kind = Kind.WORKER_FAILED;
    return new IngestFault(kind, worker, -1, null, null, kind.disposition, 0, 0);
  }
}
