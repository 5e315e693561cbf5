package io.kvrelay.engine.relay;

import io.kvrelay.api.DcId;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import io.kvrelay.engine.topology.HealthTracker;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The relay of one data center: takes the KV-cache events of its workers, keeps exact ownership,
 * and publishes a compact projection of it, pool by pool.
 *
 * <p>There are two ways to run one, and they may be mixed. Either it follows a {@linkplain
 * Builder#deployment deployment}: it is told which endpoints and workers there are and where their
 * events come from, and opens, recovers and retires pools by itself; readiness and load follow. Or
 * the host opens one {@linkplain #openPool pool} for each serving endpoint and hands every event of
 * its workers to it in order.
 *
 * <p>Give {@link #source()} to transports, or {@link #export} it here, or attach a view in the same
 * JVM to it.
 *
 * <p>Thread safe. No method blocks but {@link #close()}, and that only if the relay runs on a
 * runtime of its own. One life of a relay is one {@linkplain #identity() identity}: whoever follows
 * it takes a new one for another relay and starts over.
 */
public final class KvDcRelay implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(KvDcRelay.class.getName());
  private static final long CLOSE_SECONDS = 5;

  private final RelayRuntime runtime;
  private final @Nullable SystemRuntime ownRuntime;
  private final DcId dcId;
  private final RelayIdentity identity;
  private final PoolRegistry registry;
  private final Set<KvPool> pools = ConcurrentHashMap.newKeySet();
  private final HealthTracker health = new HealthTracker();
  private final Exports exports = new Exports(health);
  private final @Nullable Deployment deployment;

  // Guarded by this.
  private @Nullable CompletableFuture<Void> shutdown;
  private boolean topologyGiven;
  private List<TopologyEntry> statedEntries = List.of();
  private long statedRevision;

  private KvDcRelay(Builder b, DcId dcId) {
    RelayRuntime given = b.runtime;
    this.ownRuntime = given == null ? SystemRuntime.create() : null;
    this.runtime = given == null ? Objects.requireNonNull(ownRuntime) : given;
    this.dcId = dcId;
    Long instance = b.instanceId;
    this.identity =
        new RelayIdentity(
            instance == null ? runtime.randomLong() & Long.MAX_VALUE : instance,
            runtime.randomLong() & Long.MAX_VALUE);
    this.registry = PoolRegistry.create(identity, b.publication, runtime);
    Deployment.Sources sources = b.sources();
    this.deployment =
        sources == null
            ? null
            : new Deployment(
                sources, b.deploymentConfig, dcId, registry, runtime, this::hostFailed);
    this.topologyGiven = deployment != null;
  }

  /** Something of the relay itself failed: it ends, and says why. */
  void hostFailed(String reason) {
    if (health.hostFailed(reason)) {
      LOG.log(Level.ERROR, () -> "relay " + identity + " stops: " + reason);
      shutdown();
    }
  }

  /**
   * A builder without a data center.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Which life of which relay this is.
   *
   * @return the identity; never changes
   */
  public RelayIdentity identity() {
    return identity;
  }

  /**
   * The data center.
   *
   * @return its id
   */
  public DcId dcId() {
    return dcId;
  }

  /**
   * Where this relay runs, for transports and views beside it.
   *
   * @return the runtime; if it is the relay's own, it ends with the relay
   */
  public RelayRuntime runtime() {
    return runtime;
  }

  /**
   * What this relay publishes.
   *
   * @return the one source, for any number of transports and views
   */
  public RelayPublicationSource source() {
    return registry.source();
  }

  /**
   * Opens a pool: a new generation of the filter of one serving endpoint. It is in the catalog once
   * the stage completes.
   *
   * @param spec what the pool is
   * @return a future of the pool; fails with a {@link RelayException}: {@code INVALID_REQUEST} if
   *     the specification contradicts itself or its endpoint or pool id is taken, {@code CLOSED}
   *     once the relay shuts down, {@code INTERNAL} if there is no memory for the filter
   */
  public CompletableFuture<KvPool> openPool(KvPoolSpec spec) {
    if (isShuttingDown()) {
      return CompletableFuture.failedFuture(
          new RelayException(RelayErrorReason.CLOSED, "the relay is shutting down"));
    }
    PoolSpec published =
        new PoolSpec(
            spec.poolId(dcId),
            spec.endpoint(),
            spec.filterFormat(),
            spec.registrations(),
            spec.querySemantics(),
            spec.roles());
    return registry
        .attach(published, producer -> new PoolActor(spec.pool(), producer, runtime))
        .thenApply(this::register);
  }

  /** For tests that reach into a running pool. */
  @Nullable Deployment deployment() {
    return deployment;
  }

  private synchronized boolean isShuttingDown() {
    return shutdown != null;
  }

  private KvPool register(PoolHandle handle) {
    // The registry hands back what the factory made.
    KvPool pool =
        new KvPool(
            handle, (PoolActor) handle.producer(), this::publishStatedReadiness, this::forget);
    pools.add(pool);
    publishStatedReadiness();
    return pool;
  }

  private void forget(KvPool pool) {
    pools.remove(pool);
    publishStatedReadiness();
  }

  /**
   * Publishes serving readiness as a deployment's facts have it. From the first call on, what was
   * said with {@link KvPool#setServing} no longer counts: only one of the two can be the truth.
   * Subscribers see the host's revisions raised by as many as were used up before that call.
   *
   * @param snapshot the whole truth at its revision; one with a lower revision than the last is
   *     ignored and counted
   * @throws RelayException with {@code INVALID_REQUEST} if the relay follows a deployment, from
   *     which readiness follows
   */
  public void setTopology(TopologySnapshot snapshot) {
    if (deployment != null) {
      throw new RelayException(
          RelayErrorReason.INVALID_REQUEST, "readiness follows from the deployment's facts");
    }
    long before;
    synchronized (this) {
      topologyGiven = true;
      before = statedRevision;
    }
    // The host counts from its own beginning: its first revision must not look older than what was
    // stated of the pools before.
    long raised = snapshot.revision() + before;
    long revision = Long.compareUnsigned(raised, before) < 0 ? -1L : raised;
    registry.setTopology(
        before == 0
            ? snapshot
            : new TopologySnapshot(revision, snapshot.entries(), snapshot.quarantined()));
  }

  /** Publishes what the host said of its pools, unless it gives the topology itself. */
  private synchronized void publishStatedReadiness() {
    if (topologyGiven) {
      return;
    }
    List<TopologyEntry> entries =
        StatedReadiness.entries(pools.stream().map(KvPool::statement).toList());
    if (!entries.equals(statedEntries)) {
      statedEntries = entries;
      registry.setTopology(new TopologySnapshot(++statedRevision, entries));
    }
  }

  /**
   * Gauges and counters.
   *
   * @return the numbers of this moment
   */
  public KvRelayStatistics statistics() {
    List<KvPoolStatistics> open = new ArrayList<>();
    pools.forEach(pool -> open.add(pool.statistics()));
    Deployment followed = deployment;
    if (followed != null) {
      open.addAll(followed.poolStatistics());
    }
    open.sort(Comparator.comparing(pool -> pool.producer().poolId()));
    return new KvRelayStatistics(
        identity, registry.statistics(), open, followed == null ? null : followed.statistics());
  }

  /**
   * How the relay is, and what is wrong with whom.
   *
   * @return the verdict of this moment, and what it rests on
   */
  public RelayHealth health() {
    exports.refresh();
    int open = 0;
    int fenced = 0;
    for (KvPool pool : pools) {
      open++;
      fenced += pool.fenced().toCompletableFuture().isDone() ? 1 : 0;
    }
    Deployment followed = deployment;
    return followed == null
        ? health.health(open, open - fenced, fenced, null, List.of())
        : followed.health(health, open, fenced);
  }

  /**
   * Serves what this relay publishes under an address, and watches that in {@link #health()}. The
   * export ends with the relay, or when it is closed.
   *
   * @param address where
   * @param options settings
   * @return the export
   * @throws RelayException if the address cannot be served
   */
  public RelayExport export(URI address, ExportOptions options) {
    return exports.open(source(), address, options);
  }

  /**
   * Publishes what one pool has pending, whoever opened it.
   *
   * @param endpoint the serving endpoint
   * @return a future of the sequence that covers every event admitted before; fails with a {@link
   *     RelayException}: {@code POOL_NOT_FOUND} if the endpoint has no running pool, {@code
   *     PUBLICATION_UNAVAILABLE} once the pool has ended
   */
  public CompletableFuture<Long> flush(EndpointId endpoint) {
    return actor(endpoint).thenCompose(PoolActor::flush);
  }

  /**
   * Copies one pool's filter out of the exact side, as it stands after every event admitted before.
   * For tests and diagnosis: the pool applies nothing meanwhile.
   *
   * @param endpoint the serving endpoint
   * @return a future of one word per bucket; fails like {@link #flush}
   */
  public CompletableFuture<long[]> filterWords(EndpointId endpoint) {
    return actor(endpoint).thenCompose(PoolActor::filterWords);
  }

  private CompletableFuture<PoolActor> actor(EndpointId endpoint) {
    DeploymentPool followed = deployment == null ? null : deployment.pool(endpoint);
    if (followed != null) {
      return CompletableFuture.completedFuture(followed.actor());
    }
    KvPool opened = opened(endpoint);
    return opened == null
        ? CompletableFuture.failedFuture(noPool(endpoint))
        : CompletableFuture.completedFuture(opened.actor());
  }

  private @Nullable KvPool opened(EndpointId endpoint) {
    for (KvPool pool : pools) {
      if (pool.descriptor().servingEndpoint().equals(endpoint)) {
        return pool;
      }
    }
    return null;
  }

  private static RelayException noPool(EndpointId endpoint) {
    return new RelayException(
        RelayErrorReason.POOL_NOT_FOUND, "endpoint = " + endpoint + ": has no running pool");
  }

  /**
   * Clears one rank by hand: everything it holds disappears, and its source is taken up again from
   * the beginning. For a worker whose cache was emptied without a word.
   *
   * @param endpoint the serving endpoint
   * @param member the rank
   * @return a stage that completes once nothing of the rank is left; fails with a {@link
   *     RelayException} {@code POOL_NOT_FOUND} if the endpoint has no running pool, {@code
   *     INVALID_REQUEST} if the pool follows a deployment that does not expect this rank
   */
  public CompletionStage<Void> clearRank(EndpointId endpoint, Member member) {
    DeploymentPool followed = deployment == null ? null : deployment.pool(endpoint);
    if (followed != null) {
      return followed.clearRank(member);
    }
    KvPool opened = opened(endpoint);
    return opened == null
        ? CompletableFuture.failedStage(noPool(endpoint))
        : opened.resetRank(member);
  }

  /**
   * Shuts down: pools leave the catalog and what is pending is published, then every stream, pool
   * and export ends. New pools are refused from now on, events once what was pending is published.
   * Pools of a deployment are retired in order, for as long as {@link
   * DeploymentConfig#stopTimeout()} allows. Idempotent; does not wait.
   *
   * @return a stage that completes once all is ended
   */
  public synchronized CompletionStage<Void> shutdown() {
    CompletableFuture<Void> ending = shutdown;
    if (ending == null) {
      health.shuttingDown();
      List<CompletableFuture<?>> steps = new ArrayList<>();
      pools.forEach(pool -> steps.add(pool.drain()));
      if (deployment != null) {
        steps.add(deployment.stop().toCompletableFuture());
      }
      // Asynchronously: it calls whoever waits for the end, and must not do that under this lock.
      ending =
          CompletableFuture.allOf(steps.toArray(CompletableFuture<?>[]::new))
              .thenRunAsync(this::end, runtime.executor());
      shutdown = ending;
    }
    return ending.minimalCompletionStage();
  }

  private void end() {
    registry.shutdown();
    exports.close();
  }

  /**
   * Shuts down. On a runtime of the host this does not wait; on a runtime of its own it waits up to
   * five seconds for the end and leaves no thread behind. Idempotent.
   *
   * <p>A host that unloads the relay's classes waits for the stage of {@link #shutdown()} before it
   * ends its own runtime: nothing of the relay runs or is scheduled after that.
   */
  @Override
  public void close() {
    CompletionStage<Void> ended = shutdown();
    SystemRuntime own = ownRuntime;
    if (own != null) {
      try {
        ended.toCompletableFuture().get(CLOSE_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        // Closing the runtime ends what is left.
      }
      own.close();
    }
  }

  /** Collects settings. Not thread safe. */
  public static final class Builder {
    private @Nullable DcId dcId;
    private @Nullable RelayRuntime runtime;
    private @Nullable Long instanceId;
    private PublicationConfig publication = PublicationConfig.DEFAULTS;
    private @Nullable DeploymentFactsSource facts;
    private DiscoveryScope scope = DiscoveryScope.ALL;
    private @Nullable KvEventSource events;
    private @Nullable LoadReportSource loads;
    private DeploymentConfig deploymentConfig = DeploymentConfig.DEFAULTS;

    private Builder() {}

    /**
     * Names the data center; its id is derived from the name. Required, unless the id is given.
     *
     * @param name stable over restarts, the same in every deployment
     * @return this
     * @throws IllegalArgumentException if the name is empty or surrounded by white space
     */
    public Builder dcName(String name) {
      return dcId(Identities.dcId(name));
    }

    /**
     * Gives the data center's id.
     *
     * @param id the id
     * @return this
     */
    public Builder dcId(DcId id) {
      this.dcId = id;
      return this;
    }

    /**
     * Sets the runtime. It stays the caller's and must outlive the relay. Unless it is set, the
     * relay makes one of its own and ends it in {@link KvDcRelay#close()}.
     *
     * @param runtime clock, executor, timer and random source; its executor must not run tasks on
     *     the thread that submits them
     * @return this
     */
    public Builder runtime(RelayRuntime runtime) {
      this.runtime = runtime;
      return this;
    }

    /**
     * Sets the id of the process as the deployment knows it; random unless set.
     *
     * @param id unsigned
     * @return this
     */
    public Builder instanceId(long id) {
      this.instanceId = id;
      return this;
    }

    /**
     * Sets the bounds of what is published.
     *
     * @param config the bounds
     * @return this
     */
    public Builder publication(PublicationConfig config) {
      this.publication = config;
      return this;
    }

    /**
     * Makes the relay follow a deployment: the facts say which endpoints, workers and event sources
     * there are. Unless this is called the host opens pools itself.
     *
     * @param facts what is told
     * @param scope which part of it counts
     * @return this
     */
    public Builder deployment(DeploymentFactsSource facts, DiscoveryScope scope) {
      this.facts = facts;
      this.scope = scope;
      return this;
    }

    /**
     * Sets where the events of the deployment's ranks come from; nowhere unless set.
     *
     * @param events live events and history
     * @return this
     */
    public Builder events(KvEventSource events) {
      this.events = events;
      return this;
    }

    /**
     * Sets where the load reports of the deployment's ranks come from; nowhere unless set.
     *
     * @param loads the reports
     * @return this
     */
    public Builder loadReports(LoadReportSource loads) {
      this.loads = loads;
      return this;
    }

    /**
     * Sets how the deployment's pools are run.
     *
     * @param config filters, cadence, recovery
     * @return this
     */
    public Builder deploymentConfig(DeploymentConfig config) {
      this.deploymentConfig = config;
      return this;
    }

    private Deployment.@Nullable Sources sources() {
      DeploymentFactsSource given = facts;
      if (given == null) {
        return null;
      }
      return new Deployment.Sources(
          given,
          scope,
          events == null ? KvEventSource.NONE : events,
          loads == null ? LoadReportSource.NONE : loads);
    }

    /**
     * Starts the relay.
     *
     * @return the relay; close it
     * @throws RelayException with {@code INVALID_CONFIGURATION} if no data center was given, or
     *     events or load reports without a deployment
     */
    public KvDcRelay start() {
      DcId given = dcId;
      if (given == null) {
        throw new RelayException(
            RelayErrorReason.INVALID_CONFIGURATION, "dcName is missing, and so is dcId");
      }
      if (facts == null && (events != null || loads != null)) {
        throw new RelayException(
            RelayErrorReason.INVALID_CONFIGURATION,
            (events != null ? "events" : "loadReports") + " is set, but deployment is missing");
      }
      KvDcRelay relay = new KvDcRelay(this, given);
      if (relay.deployment != null) {
        relay.deployment.start();
      }
      return relay;
    }
  }
}
