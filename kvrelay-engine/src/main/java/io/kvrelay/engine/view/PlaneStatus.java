package io.kvrelay.engine.view;

/** Where a plane stands. Only {@link #CURRENT} planes hold state that is used. */
public enum PlaneStatus {
  /** Not started, or closed on purpose. */
  CLOSED,
  /** The stream is being opened; nothing has arrived yet. */
  CONNECTING,
  /** A filter's snapshot chunks are arriving; nothing is usable yet. */
  ASSEMBLING,
  /** The state is usable. */
  CURRENT,
  /** The stream failed, its state was dropped, and it is opened again after a delay. */
  BACKING_OFF,
  /** The stream failed for a reason that forbids retrying it unchanged. */
  STOPPED
}
