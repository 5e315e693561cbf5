package io.kvrelay.engine.view;

/** What became of a submitted delta. Everything but {@link #ADMITTED} means it was not taken. */
enum Admission {
  /** Queued for the lane's worker. */
  ADMITTED,
  /** The lane has no snapshot yet. */
  AWAITING_SNAPSHOT,
  /** No pool is bound to the lane. */
  UNCONFIGURED_LANE,
  /** The lane never had a lease. */
  LANE_UNASSIGNED,
  /** The lease is not the lane's current one, or the lane generation ended. */
  LANE_RETIRED,
  /** The oldest waiting delta is too old: the lane was retired. */
  DIRTY_TO_APPLIED_AGE_EXCEEDED,
  /** Too many images would wait: the lane was retired. */
  OUTSTANDING_IMAGE_LIMIT,
  /** The lane's delta numbers are used up; it is fenced for good. */
  ADMISSION_EPOCH_EXHAUSTED,
  /** The worker's queue is full: the lane was retired. */
  SATURATED,
  /** The worker failed or was shut down. */
  WORKER_FAILED
}
