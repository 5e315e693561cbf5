package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEventErrorKind;
import org.jspecify.annotations.Nullable;

/** What the first error of an event means for its source. */
final class EventDisposition {
  private EventDisposition() {}

  /** The recovery, or null to go on: capacity is a matter of the filter, not of the source. */
  static PoolFault.@Nullable Action of(KvEventErrorKind kind) {
    return switch (kind) {
      case CAPACITY_EXHAUSTED -> null;
      case ALLOCATION_FAILED -> PoolFault.Action.RECOVER_RANK;
      case INDEXER_INVARIANT_VIOLATION -> PoolFault.Action.FENCE_PRODUCER;
      // The set is open: a kind that is added later rejects its source.
      default -> PoolFault.Action.REJECT_SOURCE;
    };
  }
}
