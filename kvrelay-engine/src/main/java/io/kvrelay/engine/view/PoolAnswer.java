package io.kvrelay.engine.view;

/** Why a candidate pool has a depth in an answer, or why not. */
public enum PoolAnswer {
  /** It has a depth; 0 is a usable replica without a match. */
  DEPTH,
  /** Its replica is not installed: still connecting or assembling, backing off, or stopped. */
  NO_REPLICA,
  /** It has no lane: the view refused it. */
  NO_LANE,
  /** Neither a frame nor a heartbeat arrived within the configured age. */
  STALE,
  /**
   * The request carries only local hashes, and they are of other query semantics than the pool's.
   */
  NO_HASHES
}
