package io.kvrelay.engine.publication;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.flow.StateWatch;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.pool.PoolProducer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * All pools of one relay: their generations, the catalog and the load list that follow from them,
 * and the source that publishes it all.
 *
 * <p>Thread safe; nothing blocks. One lock guards the entries and orders what is published; hubs,
 * producers, futures and subscribers are called outside it. The runtime's executor must not run
 * tasks on the thread that submits them.
 */
public final class PoolRegistry {
  private final RelayIdentity identity;
  private final PublicationContext context;
  private final HubDirectory hubs;
  private final RegistrySource source;
  private final StateWatch<PoolCatalog> catalog;
  private final StateWatch<TopologySnapshot> readiness;
  private final StateWatch<LoadSnapshot> load;
  private final Signal shutdown = new Signal();
  private final CompletableFuture<Void> shutdownStage = new CompletableFuture<>();

  private final Object lock = new Object();
  // Guarded by lock. A null value is a reservation: the filter is being allocated.
  private final TreeMap<PoolId, @Nullable Generation> entries = new TreeMap<>();
  private final Map<EndpointId, PoolId> owners = new HashMap<>();
  private long lastGeneration;

  private PoolRegistry(RelayIdentity identity, PublicationContext context) {
    this.identity = identity;
    this.context = context;
    this.hubs = new HubDirectory(context);
    var executor = context.runtime().executor();
    this.catalog = new StateWatch<>(executor, PoolCatalog.EMPTY);
    this.readiness = new StateWatch<>(executor, TopologySnapshot.EMPTY);
    this.load = new StateWatch<>(executor, LoadSnapshot.EMPTY);
    this.source = new RegistrySource(this);
  }

  /**
   * An empty registry: catalog revision 0.
   *
   * @param identity the relay's life
   * @param config the bounds
   * @param runtime clock, executor and timer
   * @return the registry
   */
  public static PoolRegistry create(
      RelayIdentity identity, PublicationConfig config, RelayRuntime runtime) {
    return create(identity, config, runtime, FrameEncoder::cbi1);
  }

  static PoolRegistry create(
      RelayIdentity identity,
      PublicationConfig config,
      RelayRuntime runtime,
      FrameEncoder.Factory encoders) {
    return new PoolRegistry(identity, new PublicationContext(config, runtime, encoders));
  }

  /**
   * Attaches a pool as a new generation. The pool id and the endpoint are reserved at once; the
   * factory, which allocates the filter, runs later on the executor, at most two at a time. The
   * generation number is used up even if the factory fails. Cancelling the returned future before
   * it completes gives the reservation back.
   *
   * @param spec what the pool is
   * @param factory makes the producer of exactly the identity it is given
   * @return a future of the handle; it fails with a {@link RelayException}: {@code INVALID_REQUEST}
   *     if the specification contradicts itself or the pool id or the endpoint is taken, {@code
   *     CLOSED} once the relay shuts down, {@code INTERNAL} if the factory fails
   */
  public CompletableFuture<PoolHandle> attach(
      PoolSpec spec, Function<ProducerIdentity, PoolProducer> factory) {
    ProducerIdentity producerIdentity;
    try {
      CatalogRules.check(spec.registrations());
      CatalogRules.checkRoles(spec.roles());
      producerIdentity = reserve(spec);
    } catch (RelayException refused) {
      return CompletableFuture.failedFuture(refused);
    }
    Attachment attachment = new Attachment(this, spec, producerIdentity, factory);
    attachment.start();
    return attachment.future();
  }

  private ProducerIdentity reserve(PoolSpec spec) {
    synchronized (lock) {
      refuseIfShutDown();
      CatalogRules.that(
          !entries.containsKey(spec.poolId()), "poolId", spec.poolId(), "is already attached");
      CatalogRules.that(
          !owners.containsKey(spec.endpoint()), "endpoint", spec.endpoint(), "already has a pool");
      if (lastGeneration == -1L) {
        throw new RelayException(RelayErrorReason.RESOURCE_LIMIT, "no layout generation is left");
      }
      long generation = ++lastGeneration;
      entries.put(spec.poolId(), null);
      owners.put(spec.endpoint(), spec.poolId());
      return new ProducerIdentity(spec.poolId(), identity.incarnation(), generation, spec.format());
    }
  }

  private void refuseIfShutDown() {
    if (shutdown.isFired()) {
      throw new RelayException(RelayErrorReason.CLOSED, "the relay is shutting down");
    }
  }

  void rollBack(PoolSpec spec) {
    synchronized (lock) {
      PoolId poolId = spec.poolId();
      if (entries.containsKey(poolId) && entries.get(poolId) == null) {
        entries.remove(poolId);
        owners.remove(spec.endpoint());
      }
    }
  }

  PoolHandle install(PoolSpec spec, ProducerIdentity producerIdentity, PoolProducer producer) {
    CatalogRules.that(
        producer.identity().equals(producerIdentity),
        "producer",
        producer.identity(),
        "must be " + producerIdentity);
    PoolDescriptor descriptor =
        new PoolDescriptor(
            producerIdentity,
            spec.endpoint(),
            spec.registrations(),
            spec.querySemantics(),
            spec.roles());
    Generation generation = new Generation(this, descriptor, producer);
    synchronized (lock) {
      refuseIfShutDown();
      hubs.register(generation.slot());
      entries.put(spec.poolId(), generation);
      publishCatalog();
    }
    producer
        .terminated()
        .whenComplete((done, error) -> fenceIfActive(generation, "the pool ended"));
    return new PoolHandle(this, generation);
  }

  /** A producer that ends by itself takes its generation with it; one that is withdrawn may. */
  private void fenceIfActive(Generation generation, String reason) {
    if (generation.state() == PoolHandle.State.ACTIVE) {
      fence(generation, reason);
    }
  }

  boolean describe(
      Generation generation,
      @Nullable List<ModelRegistration> registrations,
      @Nullable List<WorkerRole> roles) {
    synchronized (lock) {
      if (generation.state() != PoolHandle.State.ACTIVE) {
        context.counters().ignoredUpdate();
        return false;
      }
      PoolDescriptor old = generation.descriptor();
      if (generation.describe(
          registrations == null ? old.registrations() : registrations,
          roles == null ? old.roles() : roles)) {
        publishCatalog();
      }
      return true;
    }
  }

  boolean updateLoad(Generation generation, @Nullable PoolLoad next) {
    synchronized (lock) {
      boolean mine = next == null || next.producer().equals(generation.identity());
      if (generation.state() != PoolHandle.State.ACTIVE || !mine) {
        context.counters().ignoredUpdate();
        return false;
      }
      generation.load(next);
      publishLoad();
      return true;
    }
  }

  /**
   * Publishes readiness.
   *
   * @param snapshot the whole snapshot, as the topology projection numbered it; one whose revision
   *     is lower than the last is ignored and counted
   */
  public void setTopology(TopologySnapshot snapshot) {
    synchronized (lock) {
      TopologySnapshot last = readiness.value();
      if (Long.compareUnsigned(snapshot.revision(), last.revision()) < 0) {
        context.counters().ignoredUpdate();
      } else if (!snapshot.equals(last)) {
        readiness.publish(snapshot);
      }
    }
  }

  void withdraw(Generation generation) {
    end(generation, PoolHandle.State.WITHDRAWN, () -> {});
  }

  /** Sticky, and for this generation only. */
  void fence(Generation generation, String reason) {
    end(
        generation,
        PoolHandle.State.FENCED,
        () -> {
          generation.producer().fence(reason);
          generation.fenced().complete(reason);
        });
  }

  /**
   * Entry, signal, catalog, load, hub: in this order, so that whoever learns of the end finds the
   * catalog without it.
   */
  private void end(Generation generation, PoolHandle.State target, Runnable afterwards) {
    boolean wasActive;
    synchronized (lock) {
      PoolHandle.State before = generation.state();
      if (before == target || before == PoolHandle.State.FENCED) {
        return;
      }
      wasActive = before == PoolHandle.State.ACTIVE;
      generation.state(target);
      if (target == PoolHandle.State.FENCED) {
        context.counters().terminalFailure();
      }
      generation.load(null);
      if (wasActive && !shutdown.isFired()) {
        publishCatalog();
        publishLoad();
      }
    }
    generation.cancelled().fire();
    hubs.retire(generation.slot());
    afterwards.run();
  }

  void remove(Generation generation) {
    withdraw(generation);
    synchronized (lock) {
      PoolId poolId = generation.identity().poolId();
      if (entries.get(poolId) == generation) {
        entries.remove(poolId);
        owners.remove(generation.descriptor().servingEndpoint());
      }
    }
  }

  // Publishing happens under the lock: watches only note the value and schedule.

  private void publishCatalog() {
    List<PoolDescriptor> pools = new ArrayList<>();
    for (Generation generation : entries.values()) {
      if (generation != null && generation.state() == PoolHandle.State.ACTIVE) {
        pools.add(generation.descriptor());
      }
    }
    publishCatalog(pools);
  }

  private void publishCatalog(List<PoolDescriptor> pools) {
    long revision = catalog.value().revision();
    catalog.publish(new PoolCatalog(revision == -1L ? revision : revision + 1, pools));
  }

  private void publishLoad() {
    List<PoolLoad> loads = new ArrayList<>();
    for (Generation generation : entries.values()) {
      PoolLoad known = generation == null ? null : generation.load();
      if (known != null) {
        loads.add(known);
      }
    }
    if (!loads.equals(load.value().pools())) {
      load.publish(new LoadSnapshot(loads));
    }
  }

  /**
   * Ends everything: attaches are refused, reservations dropped, the catalog and the load list
   * emptied, all streams and watches completed and all pools fenced. Idempotent.
   */
  public void shutdown() {
    List<Generation> generations = new ArrayList<>();
    synchronized (lock) {
      if (shutdown.isFired()) {
        return;
      }
      entries.values().removeIf(generation -> generation == null);
      for (Generation generation : entries.values()) {
        Generation present = Objects.requireNonNull(generation);
        generations.add(present);
        // At once: a late update must not put the pool into the catalog again.
        present.state(PoolHandle.State.FENCED);
        present.load(null);
      }
      shutdown.fire(); // wakes streams only; they find the flag set before their hub retires
      publishCatalog(List.of());
      publishLoad();
    }
    shutdownStage.complete(null);
    catalog.complete();
    readiness.complete();
    load.complete();
    generations.forEach(this::endForShutdown);
  }

  private void endForShutdown(Generation generation) {
    generation.cancelled().fire();
    hubs.retire(generation.slot());
    generation.producer().fence("the relay shuts down");
    generation.fenced().complete("the relay shuts down");
  }

  /**
   * What this relay publishes.
   *
   * @return the one source, for any number of transports and views
   */
  public RelayPublicationSource source() {
    return source;
  }

  /**
   * Gauges and counters.
   *
   * @return the numbers of this moment
   */
  public PublicationStatistics statistics() {
    HubDirectory.Gauges hubGauges = hubs.gauges();
    TopologySnapshot topology = readiness.value();
    LoadSnapshot loads = load.value();
    PoolCatalog pools = catalog.value();
    int degraded = 0;
    for (PoolLoad pool : loads.pools()) {
      degraded += pool.isDegraded() ? 1 : 0;
    }
    return new PublicationStatistics(
        catalog.subscribers(),
        context.config().maxPoolStreamsTotal() - context.streamPermits().available(),
        readiness.subscribers(),
        load.subscribers(),
        pools.pools().size(),
        hubGauges.requested(),
        hubGauges.initialized(),
        hubGauges.ready(),
        hubGauges.idle(),
        count(topology, ServingState.READY),
        count(topology, ServingState.UNAVAILABLE),
        count(topology, ServingState.UNKNOWN),
        degraded,
        context.counters().totals());
  }

  private static int count(TopologySnapshot topology, ServingState state) {
    int count = 0;
    for (var entry : topology.entries()) {
      count += entry.state() == state ? 1 : 0;
    }
    return count;
  }

  // For the source and its streams.

  RelayIdentity identity() {
    return identity;
  }

  PublicationContext context() {
    return context;
  }

  HubDirectory hubs() {
    return hubs;
  }

  Signal shutdownSignal() {
    return shutdown;
  }

  CompletionStage<Void> shutdownStage() {
    return shutdownStage.minimalCompletionStage();
  }

  StateWatch<PoolCatalog> catalog() {
    return catalog;
  }

  StateWatch<TopologySnapshot> readiness() {
    return readiness;
  }

  StateWatch<LoadSnapshot> load() {
    return load;
  }

  /** The entry of that pool, active or not, or null if there is none. */
  @Nullable Generation find(ProducerIdentity expected) {
    synchronized (lock) {
      return entries.get(expected.poolId());
    }
  }
}
