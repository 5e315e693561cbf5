package io.kvrelay.api;

/** What the receiver of a {@link RelayException} should do. */
public enum RecoveryAction {
  /** Do not retry with this contract or configuration. */
  STOP,
  /** Correct the request; an unchanged one fails again. */
  FIX_REQUEST,
  /** Quarantine the pool until its semantics are supported. */
  QUARANTINE,
  /** Drop the stream's state, refresh the catalog, subscribe only to what it advertises. */
  REFRESH_CATALOG,
  /** Drop the stream's state and refresh the catalog; never retry the same generation. */
  ABANDON_GENERATION,
  /** Drop the stream's state and open it again with backoff and jitter. */
  RETRY_WITH_BACKOFF
}
