package io.kvrelay.cli.demo;

import io.kvrelay.api.DcId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.engine.routing.KvRouter;
import io.kvrelay.engine.routing.RouterConfig;
import io.kvrelay.engine.topology.HostDeployment;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.engine.view.ViewQuery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * A relay in every data center, and one router that follows them over a transport. All of it runs
 * on the clock of the input: what the router knows at a moment is what had been published, sent and
 * installed by then. One thread drives it.
 *
 * <p>Transports with threads and sockets of their own do not know that clock. Whenever the input
 * lets time pass, they get a little of the real one.
 */
final class Federation implements Simulation.Surroundings, DepthOracle, AutoCloseable {
  private static final long PATIENCE_NANOS = 30_000_000_000L;
  private static final Duration TICK = Duration.ofMillis(1);
  private static final long REAL_TICK_NANOS = 1_000_000;
  private static final long NAP_NANOS = 50_000;
  private static final int RING_EVENTS = 64;

  private static final long BYTES_PER_EVENT = 24;
  private static final long BYTES_PER_STORED_BLOCK = 16;
  private static final long BYTES_PER_REMOVED_BLOCK = 8;

  private final VirtualRuntime runtime;
  private final KvGlobalView view;
  private final ViewQuery query;
  private final MeteredSource.Traffic traffic = new MeteredSource.Traffic();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private final List<Site> sites = new ArrayList<>();
  private final Map<DcId, Integer> dcOfId = new HashMap<>();
  private final boolean realTransport;
  private final SplittableRandom faults;
  private final double lossPercent;
  private long restarts;
  private long lostBefore;
  private long startNanos;
  private long exactEventBytes;

  private Federation(DemoSettings settings) {
    this.runtime = VirtualRuntime.inOrder(settings.seed());
    this.faults = new SplittableRandom(settings.seed());
    this.lossPercent = settings.lossPercent();
    this.realTransport = !settings.transport().startsWith("inproc");
    this.view = KvGlobalView.create(ViewConfig.builder().lanes(settings.dcs()).build(), runtime);
    this.query = view.newQuery();
    opened.add(view);
  }

  /**
   * Starts relays, exports them, and waits until the router sees every one.
   *
   * @param workload the input
   * @param settings the world
   * @return the federation; close it
   * @throws io.kvrelay.cli.InputException if the transport's addresses cannot be used
   */
  static Federation open(Workload workload, DemoSettings settings) {
    Federation federation = new Federation(settings);
    Addresses addresses = Addresses.parse(settings.transport(), settings.dcs());
    try {
      for (int dc = 0; dc < settings.dcs(); dc++) {
        federation.openDataCenter(dc, workload, addresses, settings);
      }
      for (Site site : federation.sites) {
        federation.await(site::isIdle, "the first recovery");
        federation.await(
            federation.view.awaitSequence(site.poolId(), 0),
            "the first snapshot of " + site.poolId());
      }
      federation.startNanos = federation.runtime.nanoTime();
      return federation;
    } catch (RelayException e) {
      federation.close();
      throw addresses.unusable(e);
    } catch (RuntimeException | Error e) {
      federation.close();
      throw e;
    }
  }

  /** A data center's relay, and what it is told and reads. */
  private record Site(
      KvDcRelay relay,
      HostDeployment facts,
      InMemoryEventSource events,
      List<InMemoryEventSource.Rank> ranks) {
    KvPoolStatistics statistics() {
      return relay.statistics().pools().get(0);
    }

    PoolId poolId() {
      return statistics().producer().poolId();
    }

    /** Whether there is a pool and nothing of it is on its way or being recovered. */
    boolean isIdle() {
      if (relay.statistics().pools().isEmpty()) {
        return false;
      }
      KvPoolStatistics.Following following = Objects.requireNonNull(statistics().following());
      return following.ranks().size() == ranks.size()
          && following.ranks().stream().allMatch(Site::isIdle);
    }

    private static boolean isIdle(RankStatus rank) {
      return rank.trust() == SourceTrust.EXACT
          && !rank.recovering()
          && rank.buffered() == 0
          && rank.queued() == 0;
    }
  }

  private void openDataCenter(
      int dc, Workload workload, Addresses addresses, DemoSettings settings) {
    HostDeployment facts = new HostDeployment(runtime.executor());
    InMemoryEventSource events = new InMemoryEventSource(runtime, RING_EVENTS);
    List<InMemoryEventSource.Rank> ranks = new ArrayList<>();
    Set<Long> live = new HashSet<>();
    facts.edit(
        deployment -> {
          for (long worker = 1; worker <= settings.workers(); worker++) {
            InMemoryEventSource.Rank rank =
                events.start(ServingPool.ENDPOINT, new Member(worker, 0), true);
            ranks.add(rank);
            live.add(worker);
            deployment.put(ServingPool.card(worker, workload, settings));
            deployment.advertise(rank.advertisement());
          }
          deployment.live(ServingPool.ENDPOINT, live);
        });
    KvDcRelay relay =
        KvDcRelay.builder()
            .dcName("dc-" + dc)
            .runtime(runtime)
            .deployment(facts, DiscoveryScope.ALL)
            .events(events)
            .deploymentConfig(ServingPool.config(workload, settings))
            .start();
    opened.add(relay);
    sites.add(new Site(relay, facts, events, ranks));
    dcOfId.put(relay.dcId(), dc);
    RelayExport export =
        RelayTransports.export(relay.source(), addresses.of(dc), settings.exportOptions(runtime));
    opened.add(export);
    ConnectedSource remote =
        await(
            RelayTransports.connect(export.address(), settings.connectOptions(runtime)),
            "connecting to " + export.address());
    opened.add(remote);
    view.attach(new MeteredSource(remote, traffic));
  }

  @Override
  public void advanceTo(long millis) {
    long gap = startNanos + Duration.ofMillis(millis).toNanos() - runtime.nanoTime();
    if (gap > 0) {
      runtime.advance(Duration.ofNanos(gap));
      if (realTransport) {
        letTransportWork(Math.min(gap, REAL_TICK_NANOS));
      }
    }
  }

  private void letTransportWork(long nanos) {
    long end = System.nanoTime() + nanos;
    do {
      LockSupport.parkNanos(NAP_NANOS);
      runtime.runUntilIdle();
    } while (System.nanoTime() < end);
  }

  @Override
  public Consumer<KvEvent> events(int dc) {
    Site site = sites.get(dc);
    return event -> {
      exactEventBytes += BYTES_PER_EVENT + event.length() * bytesPerBlock(event);
      InMemoryEventSource.Rank rank = site.ranks().get((int) event.member().workerId() - 1);
      if (faults.nextDouble() * 100 < lossPercent) {
        rank.loseBatches(1);
      }
      rank.publish(numbered(event, rank.nextEventId()));
      runtime.runUntilIdle();
    };
  }

  /** The publisher numbers its events, from the beginning in each of its lives. */
  private static KvEvent numbered(KvEvent event, long id) {
    return switch (event.kind()) {
      case CLEARED -> KvEvent.cleared(event.member(), id).build();
      case REMOVED -> KvEvent.removed(event.member(), id, event.engineHashes()).build();
      case STORED -> {
        KvEvent.Builder stored =
            KvEvent.stored(event.member(), id, event.engineHashes(), event.localHashes());
        yield event.hasParent()
            ? stored.parent(event.parentHash()).build()
            : stored.startPosition(0).build();
      }
    };
  }

  @Override
  public void restarted(int dc, int worker) {
    Site site = sites.get(dc);
    InMemoryEventSource.Rank before = site.ranks().get(worker);
    InMemoryEventSource.Rank now = before.restart();
    lostBefore += before.lostBatches();
    site.ranks().set(worker, now);
    site.facts()
        .edit(
            deployment -> {
              deployment.withdraw(
                  ServingPool.ENDPOINT, before.member(), before.advertisement().publisherId());
              deployment.advertise(now.advertisement());
            });
    restarts++;
    runtime.runUntilIdle();
  }

  private static long bytesPerBlock(KvEvent event) {
    return event.kind() == KvEvent.Kind.STORED ? BYTES_PER_STORED_BLOCK : BYTES_PER_REMOVED_BLOCK;
  }

  /**
   * The router that a deployment would run: the longest prefix that the view knows of, among data
   * centers whose recent load allows it.
   *
   * @param dcs where the load is known
   * @return the policy
   */
  DcPolicy policy(List<DataCenter> dcs) {
    long[] now = new long[1];
    long[] loads = new long[dcs.size()];
    int[] nothing = new int[dcs.size()];
    KvRouter router =
        KvRouter.create(
            view,
            RouterConfig.builder()
                .recentLoad(dcId -> OptionalDouble.of((double) dcs.get(dcOf(dcId)).load(now[0])))
                .maxRecentLoadFactor(LoadBoundedChoice.FACTOR)
                .build());
    return (nowMillis, prompt) -> {
      now[0] = nowMillis;
      Optional<PoolId> chosen = router.route(fill(prompt)).pool();
      if (chosen.isPresent()) {
        return dcOf(chosen.get().dcId());
      }
      // While no replica answers, the load alone decides.
      for (int i = 0; i < loads.length; i++) {
        loads[i] = dcs.get(i).load(nowMillis);
      }
      return LoadBoundedChoice.choose(nothing, loads);
    };
  }

  private int dcOf(DcId id) {
    return Objects.requireNonNull(dcOfId.get(id));
  }

  private ViewQuery fill(Prompt prompt) {
    return query
        .clear()
        .model(ServingPool.MODEL)
        .localHashes(null, prompt.locals(), 0, prompt.length());
  }

  /** What the router's view says now. A data center without an answer counts as empty. */
  @Override
  public void depths(Prompt prompt, int[] depths) {
    Arrays.fill(depths, 0);
    fill(prompt).run();
    for (int i = 0; i < query.size(); i++) {
      depths[dcOf(query.poolId(i).dcId())] = Math.max(0, query.depthBlocks(i));
    }
  }

  /**
   * Has every worker say where it stands, so that a batch that was lost last is missed too; waits
   * until everything is recovered, publishes what is pending, and waits until the router has
   * installed exactly that.
   */
  void drain() {
    for (Site site : sites) {
      site.ranks().forEach(rank -> rank.remove());
    }
    for (Site site : sites) {
      runtime.runUntilIdle();
      await(site::isIdle, "the recovery of " + site.relay().dcId());
      long sequence = await(site.relay().flush(ServingPool.ENDPOINT), "a flush");
      await(view.awaitSequence(site.poolId(), sequence), "a drain");
    }
  }

  /** Whether each lane of the view holds its producer's own words. Only means something drained. */
  boolean hasConverged() {
    for (Site site : sites) {
      long[] produced = await(site.relay().filterWords(ServingPool.ENDPOINT), "a filter");
      long[] seen = new long[produced.length];
      if (!view.copyLaneWords(site.poolId(), seen) || !Arrays.equals(seen, produced)) {
        return false;
      }
    }
    return true;
  }

  /** Blocks that some filter had no room for. */
  long omissions() {
    return sites.stream()
        .mapToLong(site -> site.statistics().actor().pool().capacityFailures())
        .sum();
  }

  /** Batches lost between workers and relays. */
  long lostBatches() {
    long lost = lostBefore;
    for (Site site : sites) {
      for (InMemoryEventSource.Rank rank : site.ranks()) {
        lost += rank.lostBatches();
      }
    }
    return lost;
  }

  /** Workers that restarted. */
  long restarts() {
    return restarts;
  }

  /** What all relays together counted. */
  long counted(IngestCount what) {
    long counted = 0;
    for (Site site : sites) {
      counted += Objects.requireNonNull(site.statistics().following()).ingest().of(what);
    }
    return counted;
  }

  MeteredSource.Traffic traffic() {
    return traffic;
  }

  long exactEventBytes() {
    return exactEventBytes;
  }

  private void await(BooleanSupplier condition, String what) {
    long giveUp = System.nanoTime() + PATIENCE_NANOS;
    runtime.runUntilIdle();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > giveUp) {
        throw new IllegalStateException(what + ": did not happen within 30 s");
      }
      runtime.advance(TICK);
    }
  }

  /** Runs tasks until a stage is done; lets time pass if nothing else can bring that about. */
  private <T> T await(CompletionStage<T> stage, String what) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    long giveUp = System.nanoTime() + PATIENCE_NANOS;
    runtime.runUntilIdle();
    while (!future.isDone()) {
      if (System.nanoTime() > giveUp) {
        throw new IllegalStateException(what + ": did not happen within 30 s");
      }
      if (realTransport) {
        LockSupport.parkNanos(NAP_NANOS);
      }
      runtime.advance(TICK);
    }
    try {
      return future.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RelayException refused ? refused : e;
    }
  }

  /** Closes what was opened, last first, and runs what that takes. */
  @Override
  public void close() {
    for (int i = opened.size() - 1; i >= 0; i--) {
      try {
        opened.get(i).close();
      } catch (Exception e) {
        throw new IllegalStateException("closing the demo's relays", e);
      }
    }
    runtime.runUntilIdle();
  }
}
