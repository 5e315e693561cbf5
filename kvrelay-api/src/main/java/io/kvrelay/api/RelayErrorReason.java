package io.kvrelay.api;

/**
 * Why an operation or a stream failed. The first group is the contract's own set and travels
 * between relays by name; the second arises only locally.
 */
public enum RelayErrorReason {
  /**
   * No reason was given, or one that this version does not know. The exception's action decides.
   */
  UNSPECIFIED(RecoveryAction.RETRY_WITH_BACKOFF),
  /** The peer speaks another contract. */
  CONTRACT_MISMATCH(RecoveryAction.STOP),
  /** The request is malformed. */
  INVALID_REQUEST(RecoveryAction.FIX_REQUEST),
  /** The requested producer uses semantics that the relay does not support. */
  UNSUPPORTED_FEATURE(RecoveryAction.QUARANTINE),
  /** No such pool is active. */
  POOL_NOT_FOUND(RecoveryAction.REFRESH_CATALOG),
  /** The pool is active under another producer identity. */
  PRODUCER_CHANGED(RecoveryAction.REFRESH_CATALOG),
  /** An admission limit was reached. */
  RESOURCE_LIMIT(RecoveryAction.RETRY_WITH_BACKOFF),
  /** The subscriber's bounded queue ran over. */
  SUBSCRIBER_LAGGED(RecoveryAction.RETRY_WITH_BACKOFF),
  /** The subscriber did not drain the initial snapshot in time. */
  SNAPSHOT_PROGRESS_TIMEOUT(RecoveryAction.RETRY_WITH_BACKOFF),
  /** The publication or the connection to it ended, or was replaced by a new snapshot. */
  PUBLICATION_UNAVAILABLE(RecoveryAction.RETRY_WITH_BACKOFF),
  /** The publication contradicts itself; its generation is fenced. */
  INVALID_PUBLICATION(RecoveryAction.ABANDON_GENERATION),
  /** A defect on the producing side. */
  INTERNAL(RecoveryAction.RETRY_WITH_BACKOFF),

  /** Local: what a peer sent violates the contract, so its stream's state cannot be used. */
  PROTOCOL_VIOLATION(RecoveryAction.RETRY_WITH_BACKOFF),
  /** Local: a configuration value is not acceptable. */
  INVALID_CONFIGURATION(RecoveryAction.STOP),
  /**
   * Local: an address cannot be used: unknown scheme, unknown name, taken, or not reachable when it
   * must be.
   */
  ADDRESS_UNAVAILABLE(RecoveryAction.RETRY_WITH_BACKOFF),
  /** Local: no answer is possible because nothing is ready. */
  NOT_READY(RecoveryAction.RETRY_WITH_BACKOFF),
  /** Local: the object has been closed. */
  CLOSED(RecoveryAction.STOP);

  private final RecoveryAction action;

  RelayErrorReason(RecoveryAction action) {
    this.action = action;
  }

  /**
   * What to do about it, unless an exception says otherwise.
   *
   * @return the action
   */
  public RecoveryAction action() {
    return action;
  }

  /**
   * Whether the reason belongs to the wire contract.
   *
   * @return true for the reasons that travel by name
   */
  public boolean isWireReason() {
    return compareTo(UNSPECIFIED) > 0 && compareTo(INTERNAL) <= 0;
  }
}
