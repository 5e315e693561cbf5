package io.kvrelay.engine.routing;

/** Why a decision came out as it did. */
public enum RoutingReason {
  /** The best score among ready pools with a depth, within the load limit. */
  PREFIX,
  /** As {@link #PREFIX}, but every pool with a depth was above the load limit. */
  PREFIX_ABOVE_LOAD_LIMIT,
  /** No usable prefix: the nearest ready pool. */
  NEAREST_READY,
  /** No usable prefix: the next ready pool in turn. */
  ROUND_ROBIN,
  /** Candidates are ready, but none has a usable prefix, and there is no fallback. */
  NO_PREFIX,
  /** No candidate is ready. */
  NONE_READY,
  /** Nothing serves the name, or not in the wanted role. */
  NO_CANDIDATE,
  /** The name stands for more than one model or adapter. */
  AMBIGUOUS_MODEL
}
