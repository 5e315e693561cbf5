package io.kvrelay.engine.relay;

import io.kvrelay.api.DcId;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.topology.DeploymentView;
import io.kvrelay.engine.topology.EndpointSlots;
import io.kvrelay.engine.topology.FactsFeed;
import io.kvrelay.engine.topology.HealthTracker;
import io.kvrelay.engine.topology.MembershipView;
import io.kvrelay.engine.topology.SlotCounters;
import io.kvrelay.engine.topology.SlotState;
import io.kvrelay.engine.topology.TopologyProjection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The half of a relay that follows a deployment: facts become membership, slots and readiness;
 * slots start and retire pools through {@link DeploymentPools}; the catalog goes back into
 * readiness.
 *
 * <p>Thread safe; nothing blocks.
 */
final class Deployment {
  /** Where everything about the deployment comes from. */
  record Sources(
      DeploymentFactsSource facts,
      DiscoveryScope scope,
      KvEventSource events,
      LoadReportSource loads) {}

  private final RelayRuntime runtime;
  private final PoolRegistry registry;
  private final DeploymentConfig config;
  private final DeploymentPools pools;
  private final TopologyProjection topology;
  private final EndpointSlots slots;
  private final FactsFeed feed;
  private final Consumer<String> onHostFailure;
  private final CatalogFollower catalog = new CatalogFollower();
  private volatile List<RelayHealth.Problem> inputProblems = List.of();

  Deployment(
      Sources sources,
      DeploymentConfig config,
      DcId dcId,
      PoolRegistry registry,
      RelayRuntime runtime,
      Consumer<String> onHostFailure) {
    this.runtime = runtime;
    this.registry = registry;
    this.config = config;
    this.onHostFailure = onHostFailure;
    this.pools = new DeploymentPools(sources, config, dcId, registry, runtime);
    this.topology = new TopologyProjection(MembershipView.EMPTY, registry::setTopology);
    this.slots = new EndpointSlots(runtime, pools, topology);
    this.feed =
        new FactsFeed(
            runtime,
            sources.facts(),
            sources.scope(),
            this::apply,
            defect -> onHostFailure.accept("the deployment facts could not be applied: " + defect));
  }

  void start() {
    registry.source().catalog().subscribe(catalog);
    feed.start();
  }

  private void apply(DeploymentView view) {
    inputProblems = view.problems();
    slots.apply(view);
  }

  /**
   * Retires every pool in order, then empties readiness. What is not done in time is left to the
   * registry, which ends everything.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> stop() {
    feed.stop();
    CompletableFuture<Void> over = new CompletableFuture<>();
    RelayRuntime.Timer patience =
        runtime.schedule(config.stopTimeout().toNanos(), () -> over.complete(null));
    slots.stop().thenRunAsync(() -> over.complete(null), runtime.executor());
    return over.thenRun(
        () -> {
          patience.cancel();
          catalog.cancel();
          topology.end();
        });
  }

  /** The verdict over this deployment's endpoints and the pools that the host opened. */
  RelayHealth health(HealthTracker health, int openedPools, int fencedPools) {
    List<RelayHealth.Problem> inputs = new ArrayList<>(inputProblems);
    for (DeploymentPool pool : pools.running()) {
      inputs.addAll(pool.problems());
    }
    inputs.sort(Comparator.comparing(RelayHealth.Problem::subject));
    inputs.addAll(0, slots.problems());
    return health.health(
        slots.count(null) + openedPools,
        slots.count(SlotState.ACTIVE) + openedPools - fencedPools,
        slots.count(SlotState.FENCED) + fencedPools,
        feed.error(),
        inputs);
  }

  /** The running pool of an endpoint, or null. */
  @Nullable DeploymentPool pool(EndpointId endpoint) {
    return pools.find(endpoint);
  }

  List<KvPoolStatistics> poolStatistics() {
    return pools.running().stream().map(DeploymentPool::statistics).toList();
  }

  KvDeploymentStatistics statistics() {
    Map<SlotState, Integer> states = new EnumMap<>(SlotState.class);
    for (SlotState state : SlotState.values()) {
      if (state != SlotState.LIGHTWEIGHT) {
        states.put(state, slots.count(state));
      }
    }
    Map<SlotCounters.Event, Long> events = new EnumMap<>(SlotCounters.Event.class);
    for (SlotCounters.Event event : SlotCounters.Event.values()) {
      events.put(event, slots.counters().get(event));
    }
    return new KvDeploymentStatistics(
        feed.statistics(),
        states,
        slots.departing(),
        events,
        topology.statistics(),
        pools.recoveriesInFlight());
  }

  /** Hands the catalog to readiness. Its end, unless it was cancelled, is the relay's failure. */
  private final class CatalogFollower implements Flow.Subscriber<PoolCatalog> {
    private final AtomicBoolean cancelled = new AtomicBoolean();
    private volatile Flow.@Nullable Subscription subscription;

    void cancel() {
      cancelled.set(true);
      Flow.Subscription open = subscription;
      if (open != null) {
        open.cancel();
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      if (cancelled.get()) {
        given.cancel();
      } else {
        given.request(Long.MAX_VALUE);
      }
    }

    @Override
    public void onNext(PoolCatalog latest) {
      topology.catalog(latest);
    }

    @Override
    public void onError(Throwable failure) {
      ended("failed: " + failure);
    }

    @Override
    public void onComplete() {
      ended("ended");
    }

    private void ended(String how) {
      if (!cancelled.get()) {
        onHostFailure.accept("the catalog watch " + how);
      }
    }
  }
}
