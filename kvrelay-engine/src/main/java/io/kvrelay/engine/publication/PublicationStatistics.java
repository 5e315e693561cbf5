package io.kvrelay.engine.publication;

/**
 * What a relay's publications hold now and have done so far. A consistent moment is not promised:
 * each number is right, two of them may be a moment apart. Transports count their own heartbeats
 * and load windows.
 *
 * @param catalogSubscribers open catalog watches
 * @param poolSubscribers open pool streams
 * @param readinessSubscribers open readiness watches
 * @param loadSubscribers open load watches
 * @param catalogPools pools in the catalog
 * @param requestedHubs active pools for which some subscriber has asked for a hub
 * @param initializedHubs hubs that hold a permit: those with a mirror and those that take one
 * @param readyHubs hubs that are ready, without a gap
 * @param idleHubs ready hubs without a subscriber
 * @param topologyReady topology entries that are ready
 * @param topologyUnavailable topology entries that are not
 * @param topologyUnknown topology entries of unknown state
 * @param degradedLoadPools pools with incomplete load coverage
 * @param totals counters since the start
 */
public record PublicationStatistics(
    int catalogSubscribers,
    int poolSubscribers,
    int readinessSubscribers,
    int loadSubscribers,
    int catalogPools,
    int requestedHubs,
    int initializedHubs,
    int readyHubs,
    int idleHubs,
    int topologyReady,
    int topologyUnavailable,
    int topologyUnknown,
    int degradedLoadPools,
    Totals totals) {
  /**
   * Counters that only grow.
   *
   * @param lagged pool streams ended by a full queue
   * @param rejectedTotal pool streams refused by the relay's limit
   * @param rejectedPerPool pool streams refused by the pool's limit
   * @param rejectedInitializedHub pool streams refused because no hub could be had
   * @param stalledSnapshots snapshots that were not taken in time
   * @param terminalFailures generations fenced
   * @param recoveries new snapshots taken by a hub after a gap or an oversized delta
   * @param evictions idle hubs evicted
   * @param encodedDeltas deltas encoded, whatever the number of subscribers
   * @param encodedDeltaBytes their payloads
   * @param encodedChunks snapshot chunks encoded
   * @param encodedChunkBytes their payloads
   * @param queuedDeltas deltas queued, each once per subscriber
   * @param subscriberFaults subscribers that threw or requested a number that is not positive
   * @param ignoredUpdates registry calls of a generation that is no longer the current one
   */
  public record Totals(
      long lagged,
      long rejectedTotal,
      long rejectedPerPool,
      long rejectedInitializedHub,
      long stalledSnapshots,
      long terminalFailures,
      long recoveries,
      long evictions,
      long encodedDeltas,
      long encodedDeltaBytes,
      long encodedChunks,
      long encodedChunkBytes,
      long queuedDeltas,
      long subscriberFaults,
      long ignoredUpdates) {}
}
