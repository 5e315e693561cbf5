package io.kvrelay.engine.topology;

/** How far a conflict among an endpoint's cards reaches. */
public enum ConflictScope {
  /** The endpoint has no pool; it still serves. */
  POOL_MATERIALIZATION,
  /** One binding of a name is left out; everything else stays. */
  SERVING_BINDING,
  /** The endpoint has no pool and takes no part in serving. */
  SERVING_TOPOLOGY
}
