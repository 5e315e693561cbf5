package io.kvrelay.engine.view;

/** What a view knows about a pool's readiness to serve a name. Only {@link #READY} is ready. */
public enum PoolReadiness {
  /** The relay says that the model, and the adapter if one is meant, is served. */
  READY,
  /** The relay says that it is not served. Authoritative: a published pool does not override it. */
  UNAVAILABLE,
  /** The relay does not know. Neither ready nor authoritatively unavailable. */
  UNKNOWN,
  /** The current snapshot has no usable entry that covers this pool and name. */
  NOT_REPORTED,
  /** The snapshot is older than the configured age. */
  STALE,
  /** There is no current snapshot: its stream is down or has not delivered yet. */
  DISCONNECTED
}
