package io.kvrelay.engine.ingest;

import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.RelayRuntime;
import org.jspecify.annotations.Nullable;

/**
 * What the parts of one ingest share.
 *
 * @param pool where events go
 * @param events where they come from
 * @param permits of the whole relay
 * @param batcher of this pool
 * @param bindings of this pool
 */
record IngestContext(
    PoolPort pool,
    KvEventSource events,
    RecoveryPermits permits,
    IngestConfig config,
    RelayRuntime runtime,
    IngestListener listener,
    ReplacementBatcher batcher,
    PublisherBindings bindings,
    IngestCounters counters,
    Directory directory) {
  /** What a rank asks about the whole. Thread safe. */
  interface Directory {
    /** What the latest view says about a rank; null if it is not expected. */
    @Nullable RankSource sourceOf(Member member);

    /** What the provider last said about a publisher; exact if nothing. */
    TrustReport trustOf(long publisherId);

    /** Why live events do not come, or null if they do. */
    @Nullable String subscriptionProblem();

    /** The rank is no longer expected and holds nothing any more. */
    void forget(RankSlot slot);
  }

  void count(IngestCount what) {
    counters.count(what);
  }

  void count(IngestCount what, long by) {
    counters.count(what, by);
  }
}
