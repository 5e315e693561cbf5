package io.kvrelay.engine.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolFault;
import io.kvrelay.engine.pool.PoolPeek;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.RankReplacement;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/**
 * One endpoint whose link loses, repeats, delays and forges batches, whose history fails, and whose
 * workers restart. A rank that calls itself exact is exact, whenever it has caught up; and once all
 * is quiet every rank is.
 *
 * <p>The long form: {@code -Dkvrelay.ingest.rounds=1000}.
 */
class IngestSimulationTest {
  private static final int RANKS = 5;
  private static final int STEPS = 120;
  private static final List<SourceTrust> LEVELS = List.of(SourceTrust.values());

  @Test
  void whateverHappensExactMeansExactAndQuietMeansEqual() {
    Random seeds = Seeds.random();
    Map<IngestCount, Long> seen = new EnumMap<>(IngestCount.class);
    int rounds = Integer.getInteger("kvrelay.ingest.rounds", 40);
    for (int round = 0; round < rounds; round++) {
      long seed = Long.getLong("kvrelay.ingest.world", seeds.nextLong());
      try (World world = new World(seed)) {
        world.run();
        world.ingest.statistics().counts().forEach((what, n) -> seen.merge(what, n, Long::sum));
      } catch (RuntimeException | Error e) {
        throw new AssertionError("round " + round + " with world seed " + seed, e);
      }
    }
    assertThat(seen).containsKeys(MET.toArray(IngestCount[]::new));
    MET.forEach(what -> assertThat(seen.get(what)).as("%s", what).isPositive());
    assertThat(seen.get(IngestCount.POOL_FENCES)).isZero();
  }

  /** What the rounds are to go through. */
  private static final Set<IngestCount> MET =
      EnumSet.of(
          IngestCount.UNBOUND_BATCHES,
          IngestCount.FOREIGN_BATCHES,
          IngestCount.INACTIVE_BATCHES,
          IngestCount.OVERFLOWED_BATCHES,
          IngestCount.STALE_EVENTS,
          IngestCount.ABANDONED_EVENTS,
          IngestCount.GAPS,
          IngestCount.LIVE_ONLY_GAPS,
          IngestCount.LOSSES,
          IngestCount.SKIPPED_IDS,
          IngestCount.RECOVERED_BY_EVENTS,
          IngestCount.RECOVERED_BY_DUMP,
          IngestCount.DEGRADED_RECOVERIES,
          IngestCount.CORRUPT_RECOVERIES,
          IngestCount.FAILED_REPLACEMENTS,
          IngestCount.CANCELLED_RECOVERIES,
          IngestCount.FAILED_RESETS,
          IngestCount.FENCES,
          IngestCount.REPAIRS,
          IngestCount.EXPLAINED_FAULTS,
          IngestCount.DISCONTINUITIES,
          IngestCount.UNKNOWN_RESETS,
          IngestCount.OPERATOR_CLEARS,
          IngestCount.ENDED_SUBSCRIPTIONS);

  /** A link between the workers and the relay that does what links do. */
  private static final class Link implements KvEventSource {
    private final KvEventSource source;
    private final VirtualRuntime runtime;
    private final Random random;
    private boolean healthy;

    private Link(KvEventSource source, VirtualRuntime runtime, Random random) {
      this.source = source;
      this.runtime = runtime;
      this.random = random;
    }

    private boolean happens(int percent) {
      return !healthy && random.nextInt(100) < percent;
    }

    @Override
    public Following follow(EndpointId endpoint, KvEventListener listener) {
      if (happens(20)) {
        throw new IllegalStateException("the link is down");
      }
      return source.follow(endpoint, new Lossy(listener));
    }

    @Override
    public CompletionStage<HistoryReply> history(
        EventSourceAdvertisement asked, HistoryRequest request) {
      if (happens(10)) {
        return CompletableFuture.failedStage(new java.io.IOException("no route"));
      }
      if (happens(3)) {
        return new CompletableFuture<>();
      }
      CompletableFuture<HistoryReply> late = new CompletableFuture<>();
      source
          .history(asked, request)
          .whenComplete(
              (reply, error) ->
                  runtime.schedule(
                      random.nextInt(40_000_000),
                      () -> {
                        if (happens(2)) {
                          late.complete(IngestRig.history(new Member(9, 9), 1, 1));
                        } else if (error == null) {
                          late.complete(reply);
                        } else {
                          late.completeExceptionally(error);
                        }
                      }));
      return late;
    }

    private final class Lossy implements KvEventListener {
      private final KvEventListener listener;

      private Lossy(KvEventListener listener) {
        this.listener = listener;
      }

      @Override
      public void onBatch(KvEventBatch batch) {
        if (happens(6)) {
          return;
        }
        if (happens(6)) {
          runtime.schedule(random.nextInt(80_000_000), () -> listener.onBatch(batch));
        } else {
          listener.onBatch(batch);
        }
        if (happens(5)) {
          runtime.schedule(random.nextInt(80_000_000), () -> listener.onBatch(batch));
        }
        if (happens(3)) {
          listener.onBatch(
              new KvEventBatch(
                  batch.publisherId(),
                  IngestRig.stores(new Member(random.nextInt(RANKS), 7), random.nextInt(100))));
        }
      }

      @Override
      public void onDiscontinuity(long publisherId, String reason) {
        listener.onDiscontinuity(publisherId, reason);
      }

      @Override
      public void onTrust(long publisherId, SourceTrust trust, String reason) {
        listener.onTrust(publisherId, trust, reason);
      }

      @Override
      public void onFailure(RelayException error) {
        listener.onFailure(error);
      }
    }
  }

  /** A pool that now and then does not do what it is asked. */
  private static final class FlakyPool implements PoolPort {
    private final PoolPort pool;
    private final Link link;

    private FlakyPool(PoolPort pool, Link link) {
      this.pool = pool;
      this.link = link;
    }

    private boolean fails(int perThousand) {
      return link.happens(10) && link.random.nextInt(100) < perThousand;
    }

    private static CompletionStage<Void> failure() {
      return CompletableFuture.failedStage(new IllegalStateException("no"));
    }

    @Override
    public CompletionStage<Void> admit(KvEvent event, long publisherId) {
      return fails(3) ? failure() : pool.admit(event, publisherId);
    }

    @Override
    public CompletionStage<Void> resetRank(Member member) {
      return link.happens(8) ? failure() : pool.resetRank(member);
    }

    @Override
    public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
      return link.happens(5) ? failure() : pool.replaceRanks(replacements);
    }
  }

  private static final class World implements AutoCloseable {
    private final Hush hush = new Hush();
    private final Random random;
    private final VirtualRuntime runtime;
    private final InMemoryEventSource source;
    private final Link link;
    private final PoolActor pool;
    private final PoolIngest ingest;
    private final RecoveryPermits permits = new RecoveryPermits(2);
    private final List<InMemoryEventSource.Rank> ranks = new ArrayList<>();
    private final List<RandomWorker> workers = new ArrayList<>();
    private final List<String> fences = new ArrayList<>();
    private final java.util.ArrayDeque<PoolFault> reported = new java.util.ArrayDeque<>();
    private CompletableFuture<FaultOutcome> handling = CompletableFuture.completedFuture(null);

    private World(long seed) {
      random = new Random(seed);
      runtime = VirtualRuntime.shuffling(random.nextLong());
      source = new InMemoryEventSource(runtime, 4 + random.nextInt(60));
      link = new Link(source, runtime, random);
      pool = IngestRig.pool(runtime);
      for (int i = 0; i < RANKS; i++) {
        Member member = new Member(i / 2, i % 2);
        ranks.add(source.start(IngestRig.ENDPOINT, member, i != RANKS - 1));
        workers.add(new RandomWorker(random, member));
      }
      IngestConfig config =
          IngestConfig.builder()
              .inboxBatches(3)
              .recoveryAttemptTimeout(Duration.ofMillis(500))
              .build();
      ingest =
          PoolIngest.start(
              view(false),
              new FlakyPool(PoolPort.of(pool), link),
              link,
              permits,
              config,
              runtime,
              fences::add);
    }

    @Override
    public void close() {
      hush.close();
    }

    private EndpointSources view(boolean stray) {
      TreeMap<Member, RankSource> found = new TreeMap<>();
      for (InMemoryEventSource.Rank rank : ranks) {
        found.put(rank.member(), RankSource.of(rank.advertisement()));
      }
      if (stray) {
        Member one = ranks.get(random.nextInt(RANKS)).member();
        if (random.nextBoolean()) {
          found.remove(one);
        } else {
          found.put(one, RankSource.none(SourceStatus.AMBIGUOUS));
        }
      }
      return new EndpointSources(IngestRig.ENDPOINT, IngestRig.ENDPOINT, found);
    }

    private void run() {
      for (int step = 0; step < STEPS; step++) {
        act();
        runtime.advance(Duration.ofMillis(random.nextInt(5) == 0 ? random.nextInt(2000) : 3));
        takeFaults();
        check(false);
      }
      heal();
      check(true);
      CompletableFuture<Void> stopped = ingest.stop().toCompletableFuture();
      runtime.runUntilIdle();
      assertThat(stopped).isCompleted();
      assertThat(permits.free()).isEqualTo(2);
      assertThat(PoolPeek.state(pool).members()).isEmpty();
      pool.fence("over");
      runtime.advance(Duration.ofMinutes(1));
      assertThat(runtime.pendingTimers()).isZero();
    }

    private void act() {
      int which = random.nextInt(RANKS);
      InMemoryEventSource.Rank rank = ranks.get(which);
      switch (random.nextInt(40)) {
        case 0 -> {
          ranks.set(which, rank.restart());
          workers.get(which).restart();
          runtime.schedule(random.nextInt(50_000_000), () -> ingest.reconcile(view(false)));
        }
        case 1 -> ingest.reconcile(view(true));
        case 2 -> ingest.reconcile(view(false));
        case 3 -> rank.failDumps(random.nextInt(12));
        case 4 -> rank.failRequests(random.nextInt(12));
        case 5 -> rank.breakStream("a break");
        case 6 -> ingest.clearRank(rank.member());
        case 7 -> rank.loseBatches(random.nextInt(5));
        case 8 -> rank.trust(LEVELS.get(random.nextInt(LEVELS.size())), "a whim");
        case 9 -> {
          if (random.nextInt(4) == 0) {
            source.endSubscriptions(
                new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, "cut"));
          }
        }
        default -> publish(which, 1 + random.nextInt(12));
      }
    }

    private void publish(int which, int batches) {
      for (int i = 0; i < batches; i++) {
        ranks.get(which).publish(workers.get(which).next(1 + random.nextInt(4)));
      }
    }

    private void takeFaults() {
      collectFaults();
      PoolFault fault = handling.isDone() ? reported.poll() : null;
      while (fault != null) {
        String before = fault + " " + ingest.ranks();
        handling = ingest.handle(fault).toCompletableFuture();
        runtime.runUntilIdle();
        if (!handling.isDone()) {
          return;
        }
        assertThat(handling.join()).isEqualTo(FaultOutcome.HANDLED);
        assertThat(ingest.statistics().of(IngestCount.REJECTED_SOURCES))
            .as("all workers are honest: %s", before)
            .isZero();
        collectFaults();
        fault = reported.poll();
      }
    }

    /** As a slot does it: a pool whose faults nobody takes applies nothing more. */
    private void collectFaults() {
      runtime.runUntilIdle();
      for (PoolFault next = pool.faults().poll(); next != null; next = pool.faults().poll()) {
        reported.add(next);
        runtime.runUntilIdle();
      }
    }

    /** The link is well again; what is not exact by itself is helped as an operator would. */
    private void heal() {
      link.healthy = true;
      for (InMemoryEventSource.Rank rank : ranks) {
        rank.failDumps(0);
        rank.failRequests(0);
        rank.loseBatches(0);
        rank.trust(SourceTrust.EXACT, "");
      }
      settle();
      for (int i = 0; i < RANKS; i++) {
        publish(i, 1); // shows what was lost last
      }
      settle();
      check(false);
      for (int i = 0; i < RANKS; i++) {
        help(i);
      }
      settle();
      for (int i = 0; i < RANKS; i++) {
        publish(i, 3);
      }
      settle();
    }

    private void help(int which) {
      RankStatus status = status(which);
      boolean recoverable = ranks.get(which).advertisement().recoveryTarget() != null;
      if (status.rejected() || !recoverable) {
        ranks.set(which, ranks.get(which).restart());
        workers.get(which).restart();
        ingest.reconcile(view(false));
        settle();
        ranks.get(which).clear(); // its first word; a live-only source is exact from here on
        workers.get(which).skip();
      } else if (status.trust() != SourceTrust.EXACT) {
        ingest.clearRank(status.member());
      }
    }

    private void settle() {
      ingest.reconcile(view(false));
      for (int i = 0; i < 40; i++) {
        runtime.advance(Duration.ofSeconds(2));
        takeFaults();
      }
    }

    private RankStatus status(int which) {
      Member member = ranks.get(which).member();
      return ingest.ranks().stream()
          .filter(rank -> rank.member().equals(member))
          .findFirst()
          .orElseThrow(() -> new AssertionError("no rank " + member));
    }

    private void check(boolean quiet) {
      assertThat(fences).isEmpty();
      PoolState state = PoolPeek.state(pool);
      Map<Member, RankStatus> statuses = new HashMap<>();
      ingest.ranks().forEach(rank -> statuses.put(rank.member(), rank));
      for (int i = 0; i < RANKS; i++) {
        InMemoryEventSource.Rank rank = ranks.get(i);
        RankStatus status = statuses.get(rank.member());
        if (quiet) {
          assertThat(status).isNotNull();
          assertThat(status.trust()).as("%s", status).isEqualTo(SourceTrust.EXACT);
          assertThat(status.cursor()).as("%s", status).hasValue(workers.get(i).lastId());
        }
        boolean caughtUp =
            status != null
                && status.trust() == SourceTrust.EXACT
                && status
                    .publisherId()
                    .equals(java.util.OptionalLong.of(rank.advertisement().publisherId()))
                && status.cursor().equals(java.util.OptionalLong.of(workers.get(i).lastId()));
        if (caughtUp) {
          equal(state, workers.get(i), rank.member());
        }
      }
    }

    private static void equal(PoolState state, RandomWorker worker, Member member) {
      assertThat(state.mappingCount(member))
          .as("rank %s", member)
          .isEqualTo(worker.blocks().size());
      worker
          .blocks()
          .forEach(
              (engine, name) -> {
                assertThat(state.isMapped(member, engine)).isTrue();
                assertThat(state.sequenceHash(member, engine)).isEqualTo(name);
                assertThat(state.filterContains(name)).isTrue();
              });
    }
  }
}
