package io.kvrelay.engine.view;

/** Why a lane operation was refused. */
enum LaneError {
  /** A pool of another indexer domain. */
  MIXED_INDEXER_DOMAIN,
  /** The pool already has a lane. */
  DUPLICATE_POOL,
  /** The data center already has a lane. */
  DUPLICATE_DC_LANE,
  /** A fixed manifest without a lane. */
  NO_CONFIGURED_LANES,
  /** The lane number is beyond the table's capacity. */
  INVALID_LANE,
  /** No pool is bound to the lane. */
  UNCONFIGURED_LANE,
  /** Every lane has a pool. */
  LANES_EXHAUSTED,
  /** The lane has an ingestion owner. */
  LANE_ALREADY_CLAIMED,
  /** A verification window outside 1..8. */
  INVALID_VERIFICATION_WINDOW,
  /** Memory could not be reserved; what was begun has been undone. */
  ALLOCATION_FAILED,

  /** A lease of another consumer. */
  WRONG_CONSUMER_INSTANCE,
  /** A lease of another lane. */
  WRONG_PHYSICAL_LANE,
  /** An identity of another pool than the lane's. */
  WRONG_LANE_OWNER,
  /** An identity of another filter format than the table's. */
  WRONG_FORMAT,
  /** An assignment epoch that is not above the lane's last one. */
  STALE_ASSIGNMENT_EPOCH,

  /** No worker. */
  INVALID_WORKER_COUNT,
  /** A queue without room. */
  INVALID_QUEUE_CAPACITY,
  /** A control timeout that is not positive. */
  INVALID_CONTROL_TIMEOUT,
  /** An image bound that is not positive. */
  INVALID_OUTSTANDING_IMAGE_BOUND,
  /** An age bound that is not positive. */
  INVALID_DIRTY_TO_APPLIED_AGE,

  /** The lane never had a lease. */
  LANE_UNASSIGNED,
  /** The lane generation ended; take a new lease and a snapshot. */
  LANE_RETIRED,
  /** The lane's admission epochs are used up; it is fenced for good. */
  ADMISSION_EPOCH_EXHAUSTED,
  /** The lane's worker failed or the pool was shut down; assign a new lease. */
  WORKER_FAILED,
  /** The worker did not take or answer a control command in time. */
  CONTROL_TIMEOUT
}
