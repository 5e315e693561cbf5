package io.kvrelay.engine.view;

/**
 * Where something failed, and with it the disposition: whose failure it is, what is known about the
 * state, whose state has to be rebuilt, and how. Recovery touches only the domain named here, and a
 * lack of capacity is never mistaken for a lack of memory.
 */
enum FailurePoint {
  /** A fingerprint found no slot: the block stays owned and is left out of the filter. */
  BOUNDED_RELOCATION_FAILURE(
      Domain.PRODUCER_CORE,
      CommitState.KNOWN_UNCHANGED,
      RecoveryDomain.NONE,
      Action.CONTINUE_CAPACITY_OMISSION),
  /** Memory could not be reserved before anything was changed. */
  PRECOMMIT_ALLOCATION_FAILURE(
      Domain.PRODUCER_CORE,
      CommitState.KNOWN_UNCHANGED,
      RecoveryDomain.NONE,
      Action.REPORT_RESOURCE_FAILURE),
  /** A source broke its protocol. */
  SOURCE_PROTOCOL_FAILURE(
      Domain.PRODUCER_CORE, CommitState.KNOWN_UNCHANGED, RecoveryDomain.NONE, Action.REJECT_SOURCE),
  /** Exact state and filter contradict each other. */
  PREWRITE_INVARIANT_MISMATCH(
      Domain.PRODUCER_CORE,
      CommitState.KNOWN_UNCHANGED,
      RecoveryDomain.PRODUCER_CORE,
      Action.FENCE_AND_REBUILD_PRODUCER),
  /** A gap or a malformed input, found before the first word was written. */
  GAP_OR_MALFORMED_BEFORE_WRITE(
      Domain.CONSUMER_LANE,
      CommitState.KNOWN_UNCHANGED,
      RecoveryDomain.CONSUMER_LANE,
      Action.DEACTIVATE_AND_SNAPSHOT),
  /** A worker failed, or nobody knows how far it came. */
  WORKER_FAILURE_MID_APPLY(
      Domain.CONSUMER_LANE,
      CommitState.UNCERTAIN,
      RecoveryDomain.CONSUMER_LANE,
      Action.DEACTIVATE_AND_SNAPSHOT),
  /** A snapshot for a lane that is not ready could not be used. */
  INACTIVE_SNAPSHOT_INSTALL_FAILURE(
      Domain.CONSUMER_LANE,
      CommitState.KNOWN_UNCHANGED,
      RecoveryDomain.CONSUMER_LANE,
      Action.RETRY_SNAPSHOT);

  /** Whose failure. */
  enum Domain {
    PRODUCER_CORE,
    CONSUMER_LANE
  }

  /** What is known about the state. */
  enum CommitState {
    KNOWN_UNCHANGED,
    UNCERTAIN
  }

  /** Whose state has to be rebuilt. */
  enum RecoveryDomain {
    NONE,
    PRODUCER_CORE,
    CONSUMER_LANE
  }

  /** How. */
  enum Action {
    CONTINUE_CAPACITY_OMISSION,
    REPORT_RESOURCE_FAILURE,
    REJECT_SOURCE,
    FENCE_AND_REBUILD_PRODUCER,
    DEACTIVATE_AND_SNAPSHOT,
    RETRY_SNAPSHOT
  }

  private final Domain domain;
  private final CommitState commitState;
  private final RecoveryDomain recoveryDomain;
  private final Action action;

  FailurePoint(
      Domain domain, CommitState commitState, RecoveryDomain recoveryDomain, Action action) {
    this.domain = domain;
    this.commitState = commitState;
    this.recoveryDomain = recoveryDomain;
    this.action = action;
  }

  Domain domain() {
    return domain;
  }

  CommitState commitState() {
    return commitState;
  }

  RecoveryDomain recoveryDomain() {
    return recoveryDomain;
  }

  Action action() {
    return action;
  }

  /** Whether a lane that failed here keeps its lease: true for a retry, false for a retirement. */
  boolean laneKeepsLease() {
    return switch (action) {
      case RETRY_SNAPSHOT -> true;
      case DEACTIVATE_AND_SNAPSHOT -> false;
      default -> throw new IllegalStateException(this + " is no outcome of a consumer lane");
    };
  }
}
