package io.kvrelay.engine.topology;

/** Where an endpoint's slot is. */
public enum SlotState {
  /** The endpoint is not, or no longer, in scope. */
  LIGHTWEIGHT,
  /** In scope, without a pool; nothing blocks one. */
  DISCOVERED,
  /** A pool generation is being built. */
  STARTING,
  /** A pool generation is running. */
  ACTIVE,
  /** A conflict blocks the pool, a start failed, or a generation was fenced. */
  FENCED,
  /** A generation is being retired gracefully. */
  DRAINING
}
