package io.kvrelay.engine.ingest;

/** What came of handling a pool's fault. */
public enum FaultOutcome {
  /** The rank was dealt with, or the fault was of a source that is not active any more. */
  HANDLED,
  /** The whole generation is in doubt and must be fenced. */
  FENCE_POOL
}
