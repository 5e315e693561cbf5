package io.kvrelay.api;

/** Whether a model can be served. */
public enum ServingState {
  /** Not known: neither ready nor authoritatively unavailable. */
  UNKNOWN,
  /** Authoritatively not served; a published pool does not override it. */
  UNAVAILABLE,
  /** Served. */
  READY
}
