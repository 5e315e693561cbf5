package io.kvrelay.engine.ingest;

/** What an ingest counts. Whatever it drops, ignores or refuses is here, and how recoveries end. */
public enum IngestCount {
  /** Batches that passed the gate. */
  ACCEPTED_BATCHES,
  /** Events admitted to the pool: live, from history, or from a buffer. */
  ADMITTED_EVENTS,
  /** Clears among the admitted events. */
  ADMITTED_CLEARS,
  /** Batches dropped: no source of this pool has the publisher id. */
  UNBOUND_BATCHES,
  /** Batches dropped: the rank's events reach the deployment another way. */
  SUPPRESSED_BATCHES,
  /** Batches dropped: an event was of another rank than the publisher's. */
  FOREIGN_BATCHES,
  /** Batches dropped: they held no event. */
  EMPTY_BATCHES,
  /** Batches dropped: of an earlier activation, or while a reset is pending. */
  INACTIVE_BATCHES,
  /** Batches dropped: the source was unknown for too long and has to be taken up again. */
  UNREACHABLE_BATCHES,
  /** Batches lost: the rank's inbox was full. */
  OVERFLOWED_BATCHES,
  /** Events ignored: at or below the cursor. */
  STALE_EVENTS,
  /** Clears of everything ignored: at or below the cursor. */
  STALE_CLEARS,
  /** Events kept until a recovery ends. */
  BUFFERED_EVENTS,
  /** Buffered events lost: the buffer was full. */
  EVICTED_EVENTS,
  /** Buffered events discarded by a clear, a fence or a deactivation. */
  DISCARDED_EVENTS,
  /** Events dropped: the rank was fenced earlier in their batch. */
  ABANDONED_EVENTS,
  /** Gaps in the event ids of a recoverable source. */
  GAPS,
  /** Gaps in the event ids of a live-only source: each cost a reset. */
  LIVE_ONLY_GAPS,
  /**
   * Known losses inside the relay that had to be recovered: a full inbox, an ended subscription.
   */
  LOSSES,
  /** Event ids that no recovery could fill. */
  SKIPPED_IDS,
  /** Full recoveries started. */
  FULL_RECOVERIES,
  /** History recoveries started. */
  HISTORY_RECOVERIES,
  /** Requests sent. */
  ATTEMPTS,
  /** Requests that failed, timeouts included. */
  FAILED_ATTEMPTS,
  /** Requests that timed out. */
  TIMED_OUT_ATTEMPTS,
  /** Answers ignored: they came after their attempt had ended. */
  LATE_REPLIES,
  /** Recoveries ended by events. */
  RECOVERED_BY_EVENTS,
  /** Recoveries ended by a tree dump. */
  RECOVERED_BY_DUMP,
  /** Recoveries that ended without history: what was buffered is all there is. */
  DEGRADED_RECOVERIES,
  /** Recoveries that ended because the source could not make a whole dump. */
  NON_AUTHORITATIVE_RECOVERIES,
  /** Recoveries whose answer held another rank's event. */
  CORRUPT_RECOVERIES,
  /** Tree dumps that were not installed. */
  FAILED_REPLACEMENTS,
  /** Recoveries cancelled. */
  CANCELLED_RECOVERIES,
  /** Results ignored: their recovery had been cancelled. */
  IGNORED_RESULTS,
  /** Rebuilds of the pool with dumps of one or more ranks. */
  REBUILDS,
  /** Sources taken up. */
  ACTIVATIONS,
  /** Sources given up. */
  DEACTIVATIONS,
  /** Ranks reset. */
  RESETS,
  /** Resets that failed. */
  FAILED_RESETS,
  /** Ranks fenced. */
  FENCES,
  /** Fenced or unbound ranks taken up again by the timer. */
  REPAIRS,
  /** Sources left out because another rank's source had the same publisher id. */
  BINDING_CONFLICTS,
  /** Faults of a rank's resources handled. */
  RESOURCE_FAULTS,
  /** Sources barred for what they said. */
  REJECTED_SOURCES,
  /** Faults ignored: of a source that is not active any more. */
  STALE_FAULTS,
  /** Refused events that are no wonder: what they hang on is known to be missing. */
  EXPLAINED_FAULTS,
  /** Faults that fence the pool. */
  POOL_FENCES,
  /** Breaks of a stream that reset a rank. */
  DISCONTINUITIES,
  /** Breaks ignored: of a publisher that is not active. */
  STALE_DISCONTINUITIES,
  /** Ranks reset because their source was unknown for too long. */
  UNKNOWN_RESETS,
  /** Trust reports forgotten: of too many publishers that have no source here. */
  FORGOTTEN_TRUST,
  /** Ranks cleared by hand. */
  OPERATOR_CLEARS,
  /** Subscriptions to live events that ended by themselves. */
  ENDED_SUBSCRIPTIONS,
  /** Calls of a subscription that had been replaced. */
  STALE_SUBSCRIPTION_CALLS
}
