package io.kvrelay.api.deployment;

/** Whether an expected rank has an event source that may be read. */
public enum SourceStatus {
  /** None is advertised. */
  MISSING,
  /** Exactly one, and it can be asked for history. */
  ACTIVE_RECOVERABLE,
  /** Exactly one, without history. */
  ACTIVE_LIVE_ONLY,
  /** Advertisements contradict each other: none may be read. Serving goes on. */
  AMBIGUOUS,
  /** The rank's events reach the deployment another way. */
  SUPPRESSED;

  /**
   * Whether the source may be read.
   *
   * @return true for the two active states
   */
  public boolean isSelectable() {
    return this == ACTIVE_RECOVERABLE || this == ACTIVE_LIVE_ONLY;
  }
}
