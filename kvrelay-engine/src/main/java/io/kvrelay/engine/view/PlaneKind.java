package io.kvrelay.engine.view;

/**
 * The independent state machines that follow one source. A fault of one never invalidates another.
 */
public enum PlaneKind {
  /** Which pools exist, how they are hashed and named. */
  CATALOG,
  /** Which models are served. */
  READINESS,
  /** How full the pools are. */
  LOAD,
  /** One pool's filter replica; there is one machine per pool and producer generation. */
  FILTER
}
