package io.kvrelay.cli.replay;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.pool.PoolFaults;
import io.kvrelay.engine.pool.PoolStatistics;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Replays events as a relay does that is being followed: its one pool is exported before the first
 * event, and the events come at a pace. The filter at the end is the one that {@link Replay} ends
 * with, because the same events are applied in the same order.
 */
public final class ServedReplay {
  private static final EndpointId ENDPOINT = new EndpointId("replay", "worker", "generate");
  private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private ServedReplay() {}

  /**
   * How to serve.
   *
   * @param address where
   * @param attributes what only the transport knows
   * @param dcName name of the data center
   * @param model the model that the pool serves
   * @param blockSize tokens of a block
   * @param eventsPerSecond pace; infinite for no pauses
   * @param holdSeconds how long to go on serving after the last event
   */
  public record Settings(
      URI address,
      Map<String, Object> attributes,
      String dcName,
      String model,
      int blockSize,
      double eventsPerSecond,
      double holdSeconds) {}

  /**
   * Runs the events once.
   *
   * @param events the events
   * @param filter the filter
   * @param flushEvery events that close a publication window
   * @param settings how to serve
   * @param onListening told the address once it can be connected to, before the first event
   * @param stop asked often; true ends the replay where it is
   * @return what came of it; images count what was published to followers
   * @throws io.kvrelay.api.RelayException if the address cannot be served
   */
  public static Result run(
      List<KvEvent> events,
      CkfConfig filter,
      int flushEvery,
      Settings settings,
      Consumer<URI> onListening,
      BooleanSupplier stop) {
    try (SystemRuntime runtime = SystemRuntime.create()) {
      PoolRegistry registry = registry(runtime);
      PoolHandle pool = open(registry, runtime, filter, flushEvery, settings);
      ExportOptions options = ExportOptions.defaults(runtime).with(settings.attributes());
      try (RelayExport export =
          RelayTransports.export(registry.source(), settings.address(), options)) {
        onListening.accept(export.address());
        return replay((PoolActor) pool.producer(), events, settings, stop);
      } finally {
        registry.shutdown();
      }
    }
  }

  /**
   * What came of it.
   *
   * @param applied events that were applied: fewer than recorded if it was stopped
   * @param outcome the rest
   */
  public record Result(int applied, Replay.Result outcome) {}

  private static PoolRegistry registry(SystemRuntime runtime) {
    RelayIdentity identity =
        new RelayIdentity(
            runtime.randomLong() & Long.MAX_VALUE, runtime.randomLong() & Long.MAX_VALUE);
    return PoolRegistry.create(identity, PublicationConfig.DEFAULTS, runtime);
  }

  private static PoolHandle open(
      PoolRegistry registry,
      SystemRuntime runtime,
      CkfConfig filter,
      int flushEvery,
      Settings settings) {
    QuerySemantics semantics =
        new QuerySemantics(settings.blockSize(), QueryHashFormat.DYNAMO_STANDARD_V1);
    IndexerDomainId domain =
        new IndexerDomainId(
            Identities.cacheSemantics(settings.model(), semantics),
            Identities.routingScope(ENDPOINT));
    PoolId poolId = new PoolId(domain, Identities.dcId(settings.dcName()));
    PoolSpec spec =
        new PoolSpec(
            poolId,
            ENDPOINT,
            filter.format(),
            List.of(ModelRegistration.base(settings.model())),
            semantics,
            List.of(WorkerRole.LEGACY));
    PoolConfig config =
        PoolConfig.builder()
            .expectedUniqueBlocks(filter.expectedBlocks())
            .seed(filter.seed())
            .maxKicks(filter.maxKicks())
            .publicationThreshold(flushEvery)
            .build();
    PoolHandle pool =
        registry.attach(spec, producer -> new PoolActor(config, producer, runtime)).join();
    PoolFaults faults = ((PoolActor) pool.producer()).faults();
    // The pool has counted them; nothing else is to be done with a recording's faults.
    faults.onSignal(
        () -> {
          while (faults.poll() != null) {}
        });
    pool.updateLoad(
        new PoolLoad(pool.identity(), OptionalLong.empty(), OptionalLong.empty(), 0, 0, 0));
    registry.setTopology(new TopologySnapshot(1, List.of(ready(settings.model(), poolId))));
    return pool;
  }

  private static TopologyEntry ready(String model, PoolId poolId) {
    return new TopologyEntry(
        ENDPOINT.namespace(),
        model,
        ServingState.READY,
        List.of(),
        List.of(),
        List.of(new TopologyMember(ENDPOINT, List.of(WorkerRole.LEGACY), poolId)),
        List.of(),
        true,
        List.of());
  }

  private static Result replay(
      PoolActor pool, List<KvEvent> events, Settings settings, BooleanSupplier stop) {
    double nanosPerEvent = TimeUnit.SECONDS.toNanos(1) / settings.eventsPerSecond();
    long start = System.nanoTime();
    int applied = 0;
    while (applied < events.size() && until(start + (long) (applied * nanosPerEvent), stop)) {
      // Waits for room in the pool's mailbox.
      pool.admit(events.get(applied++), 0).toCompletableFuture().join();
    }
    pool.flush().toCompletableFuture().join();
    long end = System.nanoTime();
    until(end + (long) (settings.holdSeconds() * TimeUnit.SECONDS.toNanos(1)), stop);
    long[] words = pool.filterWords().toCompletableFuture().join();
    PoolStatistics statistics = pool.statistics().pool();
    return new Result(
        applied, new Replay.Result(end - start, statistics.emittedImages(), statistics, words));
  }

  /** Waits until a time; false if it was stopped before. */
  private static boolean until(long nanos, BooleanSupplier stop) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      if (stop.getAsBoolean()) {
        return false;
      }
      LockSupport.parkNanos(Math.min(left, NAP_NANOS));
    }
    return !stop.getAsBoolean();
  }
}
