package io.kvrelay.api.events;

/** What the picture of one event source is worth; the better one first. */
public enum SourceTrust {
  /** Complete, as far as anybody can tell. */
  EXACT,
  /** Something is or may be missing; what is there is right. */
  DEGRADED,
  /** The source cannot be reached or has not spoken: what is there may be long gone. */
  UNKNOWN
}
