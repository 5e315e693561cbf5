package io.kvrelay.testkit.transport;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.flow.StateWatch;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A source that publishes what a test tells it to. Pools hold a snapshot as ready-made frames and
 * take deltas one by one; what waits for a subscriber is bounded. Thread safe, never blocks.
 */
public final class ScriptedSource implements RelayPublicationSource {
  private final RelayIdentity relay;
  private final RelayRuntime runtime;
  private final StateWatch<PoolCatalog> catalog;
  private final StateWatch<TopologySnapshot> readiness;
  private final StateWatch<LoadSnapshot> load;
  private final CompletableFuture<Void> shutdown = new CompletableFuture<>();
  private final Map<ProducerIdentity, ScriptedPool> pools = new ConcurrentHashMap<>();
  private volatile @Nullable RelayException refusal;

  /**
   * An empty source: catalog revision 0, no readiness, no load.
   *
   * @param relay its identity
   * @param runtime where its subscribers are called
   */
  public ScriptedSource(RelayIdentity relay, RelayRuntime runtime) {
    this.relay = relay;
    this.runtime = runtime;
    this.catalog = new StateWatch<>(runtime.executor(), PoolCatalog.EMPTY);
    this.readiness = new StateWatch<>(runtime.executor(), TopologySnapshot.EMPTY);
    this.load = new StateWatch<>(runtime.executor(), LoadSnapshot.EMPTY);
  }

  @Override
  public RelayIdentity relayIdentity() {
    return relay;
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return catalog;
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return readiness;
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return load;
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return shutdown.minimalCompletionStage();
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    return subscriber -> {
      ScriptedPool pool = pools.get(expected);
      RelayException refused = refusal;
      if (refused == null && pool == null) {
        refused = unknown(expected);
      }
      if (refused == null && pool != null) {
        pool.subscribe(subscriber);
        return;
      }
      RelayException failure = java.util.Objects.requireNonNull(refused);
      runtime
          .executor()
          .execute(
              () -> {
                subscriber.onSubscribe(Idle.INSTANCE);
                subscriber.onError(failure);
              });
    };
  }

  private RelayException unknown(ProducerIdentity expected) {
    boolean active =
        pools.keySet().stream().anyMatch(known -> known.poolId().equals(expected.poolId()));
    return active
        ? new RelayException(RelayErrorReason.PRODUCER_CHANGED, expected + ": not this generation")
        : new RelayException(RelayErrorReason.POOL_NOT_FOUND, expected + ": no such pool");
  }

  private enum Idle implements Flow.Subscription {
    INSTANCE;

    @Override
    public void request(long n) {}

    @Override
    public void cancel() {}
  }

  // ---- The script ----

  /**
   * Publishes a catalog.
   *
   * @param value the catalog
   */
  public void publish(PoolCatalog value) {
    catalog.publish(value);
  }

  /**
   * Publishes readiness.
   *
   * @param value the readiness
   */
  public void publish(TopologySnapshot value) {
    readiness.publish(value);
  }

  /**
   * Publishes load.
   *
   * @param value the load
   */
  public void publish(LoadSnapshot value) {
    load.publish(value);
  }

  /**
   * Adds a pool and lists it in the next catalog revision.
   *
   * @param descriptor how the catalog shows it
   * @param snapshot the frames of its snapshot
   * @param queueFrames how many frames may wait for one subscriber
   * @return the pool
   */
  public ScriptedPool addPool(
      PoolDescriptor descriptor, List<PublicationFrame> snapshot, int queueFrames) {
    ScriptedPool pool =
        new ScriptedPool(runtime, descriptor.producer(), List.copyOf(snapshot), queueFrames);
    pools.put(descriptor.producer(), pool);
    List<PoolDescriptor> listed = new ArrayList<>(catalog.value().pools());
    listed.add(descriptor);
    catalog.publish(new PoolCatalog(catalog.value().revision() + 1, listed));
    return pool;
  }

  /**
   * Withdraws a pool; its streams end as unavailable.
   *
   * @param producer its generation
   */
  public void removePool(ProducerIdentity producer) {
    ScriptedPool pool = pools.remove(producer);
    List<PoolDescriptor> listed = new ArrayList<>(catalog.value().pools());
    listed.removeIf(descriptor -> descriptor.producer().equals(producer));
    catalog.publish(new PoolCatalog(catalog.value().revision() + 1, listed));
    if (pool != null) {
      pool.fail(new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, "withdrawn"));
    }
  }

  /**
   * Refuses every pool subscription from now on.
   *
   * @param failure how, or null to admit again
   */
  public void refusePools(@Nullable RelayException failure) {
    refusal = failure;
  }

  /**
   * Fails the load watch, as a source does whose load is lost.
   *
   * @param failure how
   */
  public void failLoad(Throwable failure) {
    load.fail(failure);
  }

  /**
   * Open subscriptions of the catalog.
   *
   * @return subscriptions
   */
  public int catalogSubscribers() {
    return catalog.subscribers();
  }

  /** Shuts down: completes every stream. */
  public void shutDown() {
    shutdown.complete(null);
    catalog.complete();
    readiness.complete();
    load.complete();
    pools.values().forEach(ScriptedPool::complete);
  }
}
