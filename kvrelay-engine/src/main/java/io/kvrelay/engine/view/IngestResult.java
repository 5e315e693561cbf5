package io.kvrelay.engine.view;

/** What a lane did with an input. */
enum IngestResult {
  /** Nothing: it carries no lease, or not the current one. */
  IGNORED_FOREIGN_LEASE,
  /** Nothing: it is at or below what is installed. */
  IGNORED_STALE_OR_DUPLICATE,
  /** Nothing: the lane is not ready and waits for a snapshot. */
  AWAITING_SNAPSHOT,
  /** The lane is not ready any more, or still not; the fault says why. */
  LANE_DEACTIVATED,
  /** All words were stored and the lane is ready. */
  SNAPSHOT_INSTALLED,
  /** All images were stored. */
  DELTA_APPLIED,
  /** Exactly the expected sequence is installed. */
  DRAIN_ACKNOWLEDGED
}
