package io.kvrelay.engine.relay;

import io.kvrelay.api.DcId;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
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
 * <p>Open one {@linkplain #openPool pool} for each serving endpoint, hand every event of its
 * workers to it in order, and give {@link #source()} to transports or, in the same JVM, to a view.
 *
 * <p>Thread safe. No method blocks but {@link #close()}, and that only if the relay runs on a
 * runtime of its own. One life of a relay is one {@linkplain #identity() identity}: whoever follows
 * it takes a new one for another relay and starts over.
 */
public final class KvDcRelay implements AutoCloseable {
  private static final long CLOSE_SECONDS = 5;

  private final RelayRuntime runtime;
  private final @Nullable SystemRuntime ownRuntime;
  private final DcId dcId;
  private final RelayIdentity identity;
  private final PoolRegistry registry;
  private final Set<KvPool> pools = ConcurrentHashMap.newKeySet();

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
   */
  public void setTopology(TopologySnapshot snapshot) {
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
    List<KvPoolStatistics> open =
        pools.stream()
            .map(KvPool::statistics)
            .sorted(Comparator.comparing(pool -> pool.producer().poolId()))
            .toList();
    return new KvRelayStatistics(identity, registry.statistics(), open);
  }

  /**
   * Shuts down: publishes what is pending, then ends every stream and every pool. New pools are
   * refused from now on, events once what was pending is published. Idempotent; does not wait.
   *
   * @return a stage that completes once all is ended
   */
  public synchronized CompletionStage<Void> shutdown() {
    CompletableFuture<Void> ending = shutdown;
    if (ending == null) {
      CompletableFuture<?>[] drained =
          pools.stream().map(KvPool::drain).toArray(CompletableFuture<?>[]::new);
      // Asynchronously: it calls whoever waits for the end, and must not do that under this lock.
      ending =
          CompletableFuture.allOf(drained).thenRunAsync(registry::shutdown, runtime.executor());
      shutdown = ending;
    }
    return ending.minimalCompletionStage();
  }

  /**
   * Shuts down. On a runtime of the host this does not wait; on a runtime of its own it waits up to
   * five seconds for the end and leaves no thread behind. Idempotent.
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
     * Starts the relay.
     *
     * @return the relay; close it
     * @throws RelayException with {@code INVALID_CONFIGURATION} if no data center was given
     */
    public KvDcRelay start() {
      DcId given = dcId;
      if (given == null) {
        throw new RelayException(
            RelayErrorReason.INVALID_CONFIGURATION, "dcName is missing, and so is dcId");
      }
      return new KvDcRelay(this, given);
    }
  }
}
