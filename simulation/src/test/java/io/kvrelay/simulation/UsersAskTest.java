package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.pool.IgnoreReason;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolStatistics;
import io.kvrelay.engine.pool.StatePeek;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.view.Explanation;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.MatchStatus;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.SourceState;
import io.kvrelay.engine.view.ViewPeek;
import io.kvrelay.testkit.sim.FaultyEventSource;
import io.kvrelay.testkit.sim.HistoryFault;
import io.kvrelay.testkit.sim.LiveFault;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedWorker;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * What users of KV-aware routers ask for, requirement by requirement (docs/users-ask.md), at the
 * level of a whole relay and in virtual time. Bounds are the requirement's.
 */
class UsersAskTest {
  private final Deployed d = new Deployed();

  // ---- C: stale entries, clears ----

  @Test
  void c1_aClearIsAppliedInStreamOrderAndVisibleWithinAHundredMilliseconds() {
    SimulatedRank rank = d.worker(1).rank(0);
    rank.serve(1, 2, 3);
    d.millis(100);
    assertThat(d.depth(1, 2, 3)).isEqualTo(3);

    rank.clear();
    rank.serve(1, 9);
    d.millis(100);
    assertThat(d.depth(1, 2, 3)).as("before the clear").isEqualTo(1);
    assertThat(d.depth(1, 9)).as("after the clear").isEqualTo(2);

    rank.clear();
    d.millis(100);
    assertThat(d.depth(1)).isZero();
  }

  @Test
  void c2_anOperatorClearsOneSourceByHand() {
    SimulatedRank a = d.worker(1).rank(0);
    SimulatedRank b = d.worker(2).rank(0);
    a.serve(1);
    b.serve(2);
    d.seconds(1);
    // Its cache is emptied without a word.
    d.events.next(LiveFault.LOSE, a.publisherId(), 1);
    a.clear();
    d.seconds(1);
    assertThat(d.depth(1)).as("nothing tells").isEqualTo(1);

    d.relay.clearRank(Deployed.E, a.member());
    d.seconds(1);
    assertThat(d.depth(1)).isZero();
    assertThat(d.depth(2)).as("another source").isEqualTo(1);
    assertThat(d.counted(IngestCount.OPERATOR_CLEARS)).isEqualTo(1);
    assertThat(d.trust(a.member())).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void c3_aClearCostsWhatItsOwnSourceHoldsAndQueriesGoOnBesideIt() {
    SimulatedRank small = d.worker(1).rank(0);
    SimulatedRank large = d.worker(2).rank(0);
    for (int i = 0; i < 100; i++) {
      large.serve(LongStream.range(1000L * i, 1000L * i + 8).toArray());
    }
    small.serve(-1, -2, -3);
    d.seconds(1);
    long touches = d.pool().physicalTouches();

    small.clear();
    while (d.time.runOne()) {
      assertThat(d.depth(0, 1, 2)).as("between any two steps").isEqualTo(3);
    }
    d.seconds(1);
    assertThat(d.depth(-1)).isZero();
    assertThat(d.pool().physicalTouches() - touches).as("buckets written").isBetween(3L, 6L);
    assertThat(d.pool().contributions()).isEqualTo(800);
  }

  @Test
  void c4_aClearTouchesOnlyTheTierAndDomainItIsMeantFor() {
    SimulatedRank rank = d.worker(1).rank(0);
    rank.serve(1, 2);
    var publisher = rank.publisher();
    publisher.publish(
        KvEvent.stored(rank.member(), publisher.nextEventId(), new long[] {77}, new long[] {5})
            .tier(StorageTier.HOST_PINNED)
            .domain(ResidencyDomain.CACHE_OWNER)
            .build());
    publisher.publish(
        KvEvent.cleared(rank.member(), publisher.nextEventId())
            .domain(ResidencyDomain.CACHE_OWNER)
            .build());
    d.millis(100);
    assertThat(d.depth(1, 2)).as("a clear of the cache owner's").isEqualTo(2);

    publisher.publish(
        KvEvent.stored(rank.member(), publisher.nextEventId(), new long[] {78}, new long[] {6})
            .tier(StorageTier.HOST_PINNED)
            .build());
    publisher.publish(
        KvEvent.cleared(rank.member(), publisher.nextEventId())
            .domain(ResidencyDomain.WORKER)
            .build());
    d.millis(100);
    assertThat(d.depth(1, 2)).as("a clear of device memory").isZero();
    var dump =
        d.site
            .workers()
            .history(publisher.advertisement(), HistoryRequest.full(rank.member()))
            .toCompletableFuture();
    d.millis(1);
    assertThat(((HistoryReply.TreeDump) dump.join()).events())
        .as("host memory keeps its block")
        .singleElement()
        .satisfies(event -> assertThat(event.tier()).isEqualTo(StorageTier.HOST_PINNED));
  }

  @Test
  void c5_aWithdrawnSourceIsInvisibleWithinASecondAndWhatWasQueuedNeverComesBack() {
    SimulatedWorker gone = d.worker(1);
    SimulatedRank stays = d.worker(2).rank(0);
    gone.rank(0).serve(1, 2);
    stays.serve(5);
    d.seconds(1);

    d.events.delayLive(Duration.ofMillis(500));
    gone.rank(0).serve(3, 4);
    gone.unlist();
    d.seconds(1);
    assertThat(d.depth(1, 2)).isZero();
    assertThat(d.depth(5)).isEqualTo(1);

    gone.rank(0).serve(6, 7);
    d.seconds(20);
    assertThat(d.depth(3, 4)).isZero();
    assertThat(d.depth(6, 7)).isZero();
    assertThat(d.counted(IngestCount.UNBOUND_BATCHES)).isEqualTo(2);
    assertThat(StatePeek.members(d.actor())).containsExactly(stays.member());
  }

  @Test
  void c6_clearsAreCountedPerSourceAndAnEmptySourcesClearsCostNothing() {
    SimulatedRank busy = d.worker(1).rank(0);
    SimulatedRank idle = d.worker(2).rank(0);
    busy.serve(1);
    d.seconds(1);
    long sequence = d.statistics().actor().lastSequence();
    long touches = d.pool().physicalTouches();
    for (int i = 0; i < 50; i++) {
      idle.clear();
    }
    d.seconds(1);
    assertThat(d.rank(idle.member()).clears()).isEqualTo(50);
    assertThat(d.rank(busy.member()).clears()).isZero();
    assertThat(d.statistics().actor().lastSequence()).as("nothing published").isEqualTo(sequence);
    assertThat(d.pool().physicalTouches()).as("nothing written").isEqualTo(touches);
    assertThat(d.depth(1)).isEqualTo(1);
  }

  @Test
  void c7_aSourceThatIsUnreachableForTenSecondsStopsCountingUntilItsStateIsVerified() {
    SimulatedRank rank = d.worker(1).rank(0);
    rank.serve(1, 2);
    d.seconds(1);
    d.events.trust(rank.publisherId(), SourceTrust.UNKNOWN, "no heartbeat");
    d.millis(9_900);
    assertThat(d.depth(1, 2)).isEqualTo(2);
    assertThat(d.trust(rank.member())).isEqualTo(SourceTrust.UNKNOWN);
    d.millis(200);
    assertThat(d.depth(1, 2)).isZero();

    rank.serve(3);
    d.seconds(1);
    assertThat(d.depth(3)).as("not before its state is verified").isZero();
    assertThat(d.counted(IngestCount.UNREACHABLE_BATCHES)).isEqualTo(1);

    long recoveries = d.counted(IngestCount.FULL_RECOVERIES);
    d.events.trust(rank.publisherId(), SourceTrust.EXACT, "");
    d.seconds(1);
    assertThat(d.counted(IngestCount.FULL_RECOVERIES)).isEqualTo(recoveries + 1);
    assertThat(d.depth(1, 2)).isEqualTo(2);
    assertThat(d.depth(3)).isEqualTo(1);
    assertThat(d.trust(rank.member())).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void c8_everyHashOfARemovalIsProcessedWhateverItsNeighboursAre() {
    SimulatedRank rank = d.worker(1).rank(0);
    var publisher = rank.publisher();
    publisher.store(new long[] {11, 12, 13}, new long[] {1, 2, 3});
    d.seconds(1);
    publisher.remove(999, 13, 998, 12, 997);
    while (d.time.runOne()) {
      assertThat(d.depth(1)).as("readers go on").isEqualTo(1);
    }
    d.millis(100);
    assertThat(d.depth(1, 2, 3)).isEqualTo(1);
    assertThat(d.pool().unknownRemovals()).isEqualTo(3);
    assertThat(d.trust(rank.member())).isEqualTo(SourceTrust.EXACT);
  }

  // ---- E: memory ----

  @Test
  void e1_churnWithAConstantLiveSetKeepsMemoryConstant() {
    SimulatedRank rank = d.worker(1).rank(0);
    Random random = new Random(Seeds.first());
    churn(rank, random, 3000);
    long warm = StatePeek.stateBytes(d.actor());
    churn(rank, random, 30_000);
    assertThat(StatePeek.stateBytes(d.actor())).isLessThanOrEqualTo(warm + warm / 100);
    assertThat(d.pool().contributions()).isEqualTo(rank.blocks().size());
  }

  /** Always new content: every request evicts as much as it stores. */
  private void churn(SimulatedRank rank, Random random, int requests) {
    for (int i = 0; i < requests; i++) {
      rank.serve(random.longs(8).toArray());
      if (i % 50 == 0) {
        d.millis(5);
      }
    }
    d.seconds(1);
  }

  @Test
  void e2_aRemovedBlockFreesItsEntriesEverywhere() {
    SimulatedRank rank = d.worker(1).rank(0);
    d.seconds(1);
    long empty = StatePeek.stateBytes(d.actor());
    fill(rank);
    long full = StatePeek.stateBytes(d.actor());
    assertThat(full).isGreaterThan(empty);
    rank.evict(Integer.MAX_VALUE);
    d.seconds(1);
    PoolStatistics after = d.pool();
    assertThat(after.contributions()).isZero();
    assertThat(after.uniqueBlocks()).isZero();
    assertThat(after.occupiedSlots()).isZero();
    assertThat(after.members()).isZero();
    assertThat(StatePeek.words(d.actor())).containsOnly(0);

    fill(rank);
    assertThat(StatePeek.stateBytes(d.actor())).as("what was freed is used").isEqualTo(full);
    rank.clear();
    d.seconds(1);
    assertThat(StatePeek.stateBytes(d.actor())).as("and given back").isLessThanOrEqualTo(empty);
  }

  private void fill(SimulatedRank rank) {
    for (int i = 0; i < 500; i++) {
      rank.serve(LongStream.range(10L * i, 10L * i + 8).toArray());
    }
    d.seconds(1);
  }

  @Test
  void e3_anUnknownRemovalLeavesNoTraceButACounter() {
    SimulatedRank rank = d.worker(1).rank(0);
    SimulatedRank stranger = d.worker(2).rank(0);
    rank.serve(1);
    d.seconds(1);
    long bytes = StatePeek.stateBytes(d.actor());
    long[] words = StatePeek.words(d.actor());
    long sequence = d.statistics().actor().lastSequence();
    for (long i = 0; i < 1000; i++) {
      stranger.publisher().remove(5000 + i);
    }
    d.seconds(1);
    assertThat(StatePeek.stateBytes(d.actor())).isEqualTo(bytes);
    assertThat(StatePeek.words(d.actor())).isEqualTo(words);
    assertThat(StatePeek.members(d.actor())).containsExactly(rank.member());
    assertThat(d.statistics().actor().lastSequence()).isEqualTo(sequence);
    assertThat(d.pool().unknownRemovals()).isEqualTo(1000);
  }

  @Test
  void e4_aPoolsMemoryIsGivenBackWithinTenSecondsOfItsLastSource() {
    SimulatedWorker worker = d.worker(1);
    worker.rank(0).serve(1, 2);
    d.seconds(1);
    PoolActor actor = d.actor();
    assertThat(ViewPeek.tables(d.view)).isEqualTo(1);
    worker.stop();
    d.seconds(10);
    assertThat(d.relay.statistics().pools()).isEmpty();
    assertThat(d.relay.statistics().publication().initializedHubs()).isZero();
    assertThat(actor.terminated().toCompletableFuture()).isCompleted();
    assertThat(d.view.pools()).isEmpty();
    assertThat(ViewPeek.tables(d.view)).as("tables of the view").isZero();
  }

  @Test
  void e5_whatIsQueuedOrBufferedIsBoundedAndItsLossCounted() {
    SimulatedRank queued = d.worker(1).rank(0);
    SimulatedRank buffered = d.worker(2).rank(0);
    d.seconds(1);
    int bound = Deployed.INBOX;
    for (long i = 0; i < bound + 100L; i++) {
      queued.serve(i); // nothing runs meanwhile
    }
    assertThat(d.rank(queued.member()).queued()).isEqualTo(bound);
    d.seconds(5);
    assertThat(d.counted(IngestCount.OVERFLOWED_BATCHES)).isEqualTo(100);
    assertThat(d.rank(queued.member()).queued()).isZero();

    d.events.next(HistoryFault.SILENCE, buffered.publisherId(), 1);
    d.events.next(LiveFault.LOSE, buffered.publisherId(), 1);
    for (long i = 0; i < 1500; i++) {
      buffered.serve(1_000_000 + i);
      d.time.runUntilIdle();
    }
    assertThat(d.rank(buffered.member()).buffered()).isEqualTo(1024);
    assertThat(d.counted(IngestCount.EVICTED_EVENTS)).isEqualTo(1499 - 1024);
    d.seconds(60);
    d.assertExact(queued, buffered);
  }

  // ---- J: back-pressure, scale, several routers, diagnosis ----

  @Test
  void j1_anEngineNeverWaitsForTheIndexAndOverloadBecomesCountedLossAndRecovery() {
    SimulatedRank rank = d.worker(1).rank(0);
    d.seconds(1);
    // Everything is published before the index takes a single step: a wait would never end.
    for (long i = 0; i < 5000; i++) {
      rank.serve(i, i + 1);
    }
    assertThat(d.rank(rank.member()).queued()).isLessThanOrEqualTo(Deployed.INBOX);
    d.seconds(5);
    assertThat(d.counted(IngestCount.OVERFLOWED_BATCHES)).isPositive();
    assertThat(d.counted(IngestCount.LOSSES)).isPositive();
    d.assertExact(rank);
  }

  @Test
  void j1_overloadWhileARecoveryIsUnderWayIsRecoveredFromToo() {
    SimulatedRank rank = d.worker(1).rank(0);
    d.seconds(1);
    d.events.delayHistory(Duration.ofMillis(500));
    d.events.next(LiveFault.LOSE, 1);
    for (long i = 0; i < 3; i++) {
      rank.serve(i);
    }
    d.millis(50);
    assertThat(d.rank(rank.member()).recovering()).isTrue();
    for (int burst = 1; burst <= 3; burst++) {
      for (long i = 0; i < Deployed.INBOX + 100L; i++) {
        rank.serve(100_000L * burst + i);
      }
      d.millis(50);
      rank.serve(-burst); // nothing after it is missing
      d.millis(50);
    }
    assertThat(d.counted(IngestCount.OVERFLOWED_BATCHES)).isEqualTo(300);
    d.seconds(5);
    d.assertExact(rank);
  }

  @Test
  void j2_aSlowLaneLosesOnlyItsOwnPublishersBatches() {
    SimulatedRank flood = d.worker(1).rank(0);
    List<SimulatedRank> others =
        LongStream.range(2, 10).mapToObj(id -> d.worker(id).rank(0)).toList();
    d.seconds(1);
    long histories = d.counted(IngestCount.HISTORY_RECOVERIES);
    long full = d.counted(IngestCount.FULL_RECOVERIES);
    for (long i = 0; i < 3L * Deployed.INBOX; i++) {
      flood.serve(i);
      if (i % 10 == 0) {
        others.get((int) (i / 10 % others.size())).serve(-i - 1);
      }
    }
    d.millis(1);
    for (SimulatedRank other : others) {
      assertThat(d.trust(other.member())).as("unaffected").isEqualTo(SourceTrust.EXACT);
    }
    d.seconds(5);
    assertThat(d.counted(IngestCount.OVERFLOWED_BATCHES)).isEqualTo(2L * Deployed.INBOX);
    assertThat(
            d.counted(IngestCount.HISTORY_RECOVERIES)
                - histories
                + d.counted(IngestCount.FULL_RECOVERIES)
                - full)
        .as("of the slow one alone")
        .isBetween(1L, 2L);
    d.assertExact(flood);
    d.assertExact(others.toArray(SimulatedRank[]::new));
  }

  @Test
  void j3_severalRoutersConvergeToOneState() {
    KvGlobalView late = d.newView();
    SimulatedRank rank = d.worker(1).rank(0);
    rank.serve(1, 2, 3);
    d.seconds(1);
    KvGlobalView latest = d.newView();
    latest.attach(d.relay.source());
    late.attach(d.relay.source());
    rank.serve(1, 2, 4);
    d.seconds(1);
    long[] words = StatePeek.words(d.actor());
    for (KvGlobalView view : List.of(d.view, late, latest)) {
      long[] lane = new long[words.length];
      assertThat(view.copyLaneWords(d.poolId(), lane)).isTrue();
      assertThat(lane).isEqualTo(words);
      assertThat(Deployed.look(view, 1, 2, 4).depth()).isEqualTo(3);
    }
  }

  @Test
  void j4_twoRoutersFedFromTheSameSourcesGiveTheSameAnswer() {
    SimulatedRank a = d.worker(1).rank(0);
    SimulatedRank b = d.worker(2).rank(0);
    // A second relay of its own, over its own way, on which things go wrong.
    FaultyEventSource otherWay = d.site.faultyEvents();
    KvDcRelay otherRelay = d.site.relay(otherWay).deploymentConfig(Deployed.CONFIG).start();
    KvGlobalView otherView = d.newView();
    otherView.attach(otherRelay.source());
    d.seconds(1);
    Random random = new Random(Seeds.first());
    for (int i = 0; i < 200; i++) {
      long[] prompt = random.longs(1 + random.nextInt(6), 0, 4).toArray();
      (random.nextBoolean() ? a : b).serve(prompt);
      if (i % 20 == 0) {
        otherWay.next(LiveFault.LOSE, 3);
        d.millis(2);
      }
    }
    a.serve(100);
    b.serve(101);
    d.seconds(5);
    for (int i = 0; i < 200; i++) {
      long[] prompt = random.longs(1 + random.nextInt(6), 0, 4).toArray();
      PoolMatch one = d.look(prompt);
      PoolMatch other = Deployed.look(otherView, prompt);
      assertThat(other.depthBlocks()).isEqualTo(one.depthBlocks());
    }
    assertThat(otherWay.injected(LiveFault.LOSE)).isEqualTo(30);
  }

  @Test
  void j5_noAnswerIsNotZeroBlocksAndEveryCandidateIsInTheAnswer() {
    assertThat(d.match(1).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    d.worker(1).rank(0).serve(1);
    Deployed far = d.neighbour("dc-far");
    far.worker(1).rank(0).serve(1, 2);
    d.seconds(1);

    assertThat(d.match(1, 2).pools()).extracting(PoolMatch::depth).containsExactlyInAnyOrder(1, 2);
    assertThat(d.match(9).pools())
        .as("zero blocks are an answer")
        .allSatisfy(pool -> assertThat(pool.depthBlocks()).hasValue(0));

    KvGlobalView starting = d.newView();
    starting.attach(d.relay.source());
    boolean shownWithout = false;
    while (d.time.runOne()) {
      PrefixMatch match = starting.match(Deployed.request(1));
      if (match.status() == MatchStatus.NO_ANSWER) {
        shownWithout = true;
        assertThat(match.pools())
            .singleElement()
            .satisfies(
                pool -> {
                  assertThat(pool.hasAnswer()).isFalse();
                  assertThat(pool.depthBlocks()).isEmpty();
                  assertThat(pool.detail()).isNotEmpty();
                });
      } else if (match.status() == MatchStatus.ANSWERED) {
        assertThat(match.pools().get(0).depthBlocks()).as("never 0 meanwhile").hasValue(1);
      }
    }
    assertThat(shownWithout).as("a candidate without an answer").isTrue();

    far.cutLink();
    d.seconds(1);
    assertThat(d.match(1, 2).pool(far.poolId())).as("a relay that is lost is no zero").isEmpty();
    assertThat(d.match(1, 2).pool(d.poolId()).orElseThrow().depthBlocks()).hasValue(1);
    assertThat(d.view.state().sources())
        .extracting(SourceState::trust)
        .containsExactly(SourceState.Trust.EXACT, SourceState.Trust.UNKNOWN);
  }

  @Test
  void j6_anAnswerCanBeExplainedHashByHashAndSourceBySource() {
    SimulatedRank rank = d.worker(1).rank(0);
    rank.serve(1, 2);
    d.seconds(1);
    Explanation explanation = d.view.explain(Deployed.request(1, 2, 3));
    assertThat(explanation.hashes().values())
        .singleElement()
        .satisfies(
            hashes -> {
              assertThat(hashes.local()).containsExactly(1L, 2L, 3L);
              assertThat(hashes.sequence()).hasSize(3);
            });
    assertThat(explanation.match().pools().get(0).depth()).isEqualTo(2);
    assertThat(explanation.state().sources())
        .singleElement()
        .satisfies(
            source -> {
              assertThat(source.trust()).isEqualTo(SourceState.Trust.EXACT);
              assertThat(source.planes()).isNotEmpty();
            });

    d.events.trust(rank.publisherId(), SourceTrust.DEGRADED, "drifted");
    d.seconds(1);
    assertThat(d.relay.health().problems())
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.subject()).isEqualTo(Deployed.E + " worker 1 rank 0");
              assertThat(problem.detail()).contains("DEGRADED", "drifted");
            });
  }

  @Test
  void j7_eventsAreCountedByKindAndTierAndTheIndexSaysHowFullItIs() {
    SimulatedRank rank = d.worker(1).rank(0);
    var publisher = rank.publisher();
    rank.serve(1, 2);
    rank.evict(1);
    publisher.publish(
        KvEvent.stored(rank.member(), publisher.nextEventId(), new long[] {7}, new long[] {7})
            .tier(StorageTier.HOST_PINNED)
            .build());
    rank.clear();
    rank.serve(4);
    d.seconds(1);
    PoolStatistics pool = d.pool();
    assertThat(pool.events().of(KvEvent.Kind.STORED, StorageTier.DEVICE)).isEqualTo(2);
    assertThat(pool.events().of(KvEvent.Kind.STORED, StorageTier.HOST_PINNED)).isEqualTo(1);
    assertThat(pool.events().of(KvEvent.Kind.REMOVED, StorageTier.DEVICE)).isEqualTo(1);
    assertThat(pool.events().of(KvEvent.Kind.CLEARED, StorageTier.DEVICE)).isEqualTo(1);
    assertThat(pool.ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(1);
    assertThat(pool.occupiedSlots()).isEqualTo(1);
    assertThat(pool.buckets()).isPositive();
  }

  @Test
  void j8_blocksRefusedForAMissingParentAreCountedAsBlocks() {
    SimulatedRank rank = d.worker(1).rank(0);
    d.seconds(1);
    var publisher = rank.publisher();
    KvEvent orphan =
        KvEvent.stored(
                rank.member(), publisher.nextEventId(), new long[] {1, 2, 3}, new long[] {1, 2, 3})
            .parent(4711)
            .build();
    publisher.send(new KvEventBatch(rank.publisherId(), List.of(orphan)));
    d.seconds(1);
    assertThat(d.pool().parentNotFound()).isEqualTo(1);
    assertThat(d.pool().parentNotFoundBlocks()).isEqualTo(3);
  }

  @Test
  void j9_everySourceIsInExactlyOneStateOfTrustWithAReason() {
    SimulatedRank exact = d.worker(1).rank(0);
    SimulatedRank degraded = d.worker(2).rank(0);
    SimulatedRank unknown = d.worker(3).rank(0);
    d.worker(4).crash();
    d.seconds(1);
    exact.serve(1);
    degraded.serve(1);
    d.seconds(1);
    d.events.next(HistoryFault.DUMP_FAILURE, degraded.publisherId(), 100);
    d.events.next(LiveFault.LOSE, degraded.publisherId(), 1);
    degraded.serve(2);
    degraded.serve(3);
    d.events.trust(unknown.publisherId(), SourceTrust.UNKNOWN, "no heartbeat");
    d.seconds(2);

    assertThat(d.ranks()).hasSize(4).allSatisfy(rank -> assertThat(rank.trust()).isNotNull());
    assertThat(d.rank(exact.member()))
        .returns(SourceTrust.EXACT, RankStatus::trust)
        .returns("", RankStatus::reason);
    assertThat(d.rank(degraded.member()))
        .returns(SourceTrust.DEGRADED, RankStatus::trust)
        .satisfies(rank -> assertThat(rank.reason()).isNotEmpty());
    assertThat(d.rank(unknown.member()))
        .returns(SourceTrust.UNKNOWN, RankStatus::trust)
        .returns("no heartbeat", RankStatus::reason);
    assertThat(d.rank(new Member(4, 0)).reason()).isNotNull();
  }
}
