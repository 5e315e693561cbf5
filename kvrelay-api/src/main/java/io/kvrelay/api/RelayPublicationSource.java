package io.kvrelay.api;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * What a relay publishes: the one boundary between the producing and the consuming half. A relay is
 * a source; a transport's exporter serves a source; a transport's connector returns one that
 * mirrors the remote source; a view consumes any source.
 *
 * <p><b>Watches</b> ({@link #catalog()}, {@link #readiness()}, {@link #load()}) publish whole
 * values to any number of subscribers. Each subscriber first gets the current value, then the
 * latest one whenever it changed and the subscriber has asked for it; values in between may be
 * skipped. A transport repeats the current catalog and readiness as a heartbeat, with the same
 * revision and identical content, and sends a load window per interval; a bare relay repeats
 * nothing.
 *
 * <p><b>Pool streams</b> ({@link #pool}) serve exactly one producer generation: all chunks of one
 * snapshot, then contiguous deltas {@code N -> N+1}; a transport may add heartbeats once the
 * snapshot is complete. A stream that ends must be opened again and starts over with a snapshot.
 * What waits for a slow subscriber is bounded; beyond the bound that subscriber alone is ended.
 *
 * <p><b>Errors.</b> Streams fail with a {@link RelayException}. A source that shuts down completes
 * its streams without an error. {@code onComplete} that the subscriber did not expect proves
 * nothing about the freshness of what it holds.
 *
 * <p>Sources are thread safe. {@code subscribe} does not block; signals of one subscription are
 * serial, on threads of the source. The publishers obey the Reactive Streams rules.
 */
public interface RelayPublicationSource {
  /**
   * The relay life that owns every generation this source advertises. Never changes.
   *
   * @return the identity
   */
  RelayIdentity relayIdentity();

  /**
   * Watches the catalog.
   *
   * @return a publisher for any number of subscribers
   */
  Flow.Publisher<PoolCatalog> catalog();

  /**
   * Watches serving readiness.
   *
   * @return a publisher for any number of subscribers
   */
  Flow.Publisher<TopologySnapshot> readiness();

  /**
   * Watches load.
   *
   * @return a publisher for any number of subscribers
   */
  Flow.Publisher<LoadSnapshot> load();

  /**
   * Streams one producer generation. Each {@code subscribe} call of the returned publisher is an
   * admission of its own, decided fail-fast or after waiting for an encoding permit, and reported
   * through {@code onError}:
   *
   * <ul>
   *   <li>{@link RelayErrorReason#POOL_NOT_FOUND} - no such pool is active
   *   <li>{@link RelayErrorReason#PRODUCER_CHANGED} - it is active under another identity
   *   <li>{@link RelayErrorReason#RESOURCE_LIMIT} - streams, subscribers of the pool, or hubs are
   *       at their limit
   *   <li>{@link RelayErrorReason#SUBSCRIBER_LAGGED} - this subscriber's queue ran over
   *   <li>{@link RelayErrorReason#SNAPSHOT_PROGRESS_TIMEOUT} - this subscriber did not take the
   *       snapshot in time
   *   <li>{@link RelayErrorReason#PUBLICATION_UNAVAILABLE} - the hub was retired or took a new
   *       snapshot; subscribe again
   *   <li>{@link RelayErrorReason#INVALID_PUBLICATION} - the generation is faulty and fenced
   *   <li>{@link RelayErrorReason#INTERNAL} - the encoder failed
   * </ul>
   *
   * @param expected the generation, as the catalog advertises it
   * @return a publisher
   */
  Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected);

  /**
   * Completes once the source begins to shut down. Pure observation: dropping or cancelling the
   * stage has no effect.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> shutdown();
}
