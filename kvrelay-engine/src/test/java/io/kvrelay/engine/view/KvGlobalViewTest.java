package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.ScriptedRelay.MODEL;
import static io.kvrelay.engine.view.ScriptedRelay.descriptor;
import static io.kvrelay.engine.view.ScriptedRelay.pool;
import static io.kvrelay.engine.view.ScriptedRelay.producer;
import static io.kvrelay.engine.view.ViewRig.filter;
import static io.kvrelay.engine.view.ViewRig.hashes;
import static io.kvrelay.engine.view.ViewRig.prompt;
import static io.kvrelay.engine.view.ViewRig.show;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.ForwardingRuntime;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The whole view over scripted relays, in virtual time. */
class KvGlobalViewTest {
  private static final ProducerIdentity A = producer(1, 1, 9, 1);
  private static final ProducerIdentity B = producer(1, 2, 9, 2);
  private static final ProducerIdentity C = producer(1, 3, 9, 3);
  private static final int[] PROMPT = prompt(1, 8);

  private final ViewRig rig = new ViewRig();
  private final ScriptedRelay relay = new ScriptedRelay(9);

  private static RelayException failure(RelayErrorReason reason) {
    return new RelayException(reason, "it said so");
  }

  private static int[] first(int[] tokens, int blocks) {
    return Arrays.copyOf(tokens, blocks * ScriptedRelay.BLOCK);
  }

  // Answers.

  @Test
  void theFirstSnapshotEnablesAnswers() {
    show(relay, 1, filter(A, first(PROMPT, 5)));
    rig.attach(relay);
    PoolMatch match = rig.only(PROMPT);
    assertThat(match.answer()).isEqualTo(PoolAnswer.DEPTH);
    assertThat(match.depthBlocks()).isEqualTo(OptionalInt.of(5));
    assertThat(match.queryBlocks()).isEqualTo(8);
    assertThat(match.readiness()).isEqualTo(PoolReadiness.READY);
    assertThat(match.load().usedFraction()).hasValue(0.25);
    assertThat(match.catalogFresh()).isTrue();
  }

  @Test
  void oneCachedBlockOfFourTokensScoresFourTokens() {
    show(relay, 1, filter(A, first(PROMPT, 1)));
    rig.attach(relay);
    assertThat(rig.only(PROMPT).depthTokens()).isEqualTo(OptionalLong.of(4));
  }

  @Test
  void noAnswerIsNotADepthOfZero() {
    relay.show(1, descriptor(A));
    rig.attach(relay);
    PrefixMatch without = rig.match(PROMPT);
    assertThat(without.status()).isEqualTo(MatchStatus.NO_ANSWER);
    assertThat(without.pools().get(0).answer()).isEqualTo(PoolAnswer.NO_REPLICA);
    assertThat(without.pools().get(0).depthBlocks()).isEmpty();
    assertThat(without.pools().get(0).depthTokens()).isEmpty();
    assertThat(rig.count(ViewCounter.ANSWERS_MISSING)).isEqualTo(1);
    ScriptedFilter empty = new ScriptedFilter(A);
    empty.snapshot(1).forEach(frame -> relay.publish(empty, frame));
    rig.settle();
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.ANSWERED);
    assertThat(rig.only(PROMPT).depthBlocks()).hasValue(0);
  }

  @Test
  void aPromptShorterThanABlockIsAnEmptyMatchAndCounted() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    assertThat(rig.only(1, 2, 3).depthBlocks()).hasValue(0);
    assertThat(rig.only().depthBlocks()).hasValue(0);
    assertThat(rig.count(ViewCounter.QUERIES_SHORTER_THAN_A_BLOCK)).isEqualTo(2);
  }

  @Test
  void deltasMoveTheAnswerAndTheSequence() {
    ScriptedFilter filter = filter(A, first(PROMPT, 2));
    show(relay, 1, filter);
    rig.attach(relay);
    assertThat(rig.view.installedSequence(A.poolId())).hasValue(0);
    CompletableFuture<Void> reached = rig.view.awaitSequence(A.poolId(), 2);
    rig.settle();
    assertThat(reached).isNotDone();
    long[] hashes = hashes(PROMPT);
    relay.publish(filter, filter.store(hashes[2]));
    relay.publish(filter, filter.store(hashes[3], hashes[4]));
    rig.settle();
    assertThat(reached).isCompleted();
    assertThat(rig.only(PROMPT).depthBlocks()).hasValue(5);
    assertThat(rig.view.installedSequence(A.poolId())).hasValue(2);
    assertThat(rig.count(ViewCounter.FILTER_DELTAS_APPLIED)).isEqualTo(2);
  }

  @Test
  void theLaneHoldsTheProducersWordsBitForBit() {
    ScriptedFilter filter = filter(A, PROMPT);
    show(relay, 1, filter);
    rig.attach(relay);
    relay.publish(filter, filter.set(17, -1));
    rig.settle();
    long[] words = new long[64];
    assertThat(rig.view.copyLaneWords(A.poolId(), words)).isTrue();
    assertThat(words).containsExactly(filter.words);
    assertThat(rig.view.copyLaneWords(B.poolId(), words)).isFalse();
    assertThatThrownBy(() -> rig.view.copyLaneWords(A.poolId(), new long[63]))
        .hasMessageContaining("63")
        .hasMessageContaining("64");
  }

  @Test
  void everyCandidateIsInTheAnswerInPoolOrder() {
    show(relay, 1, filter(C, first(PROMPT, 3)), filter(A, PROMPT), filter(B, first(PROMPT, 1)));
    rig.attach(relay);
    assertThat(rig.match(PROMPT).pools())
        .extracting(PoolMatch::poolId)
        .containsExactly(A.poolId(), B.poolId(), C.poolId());
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::depth).containsExactly(8, 1, 3);
  }

  // The catalog decides which pools there are.

  @Test
  void anAbsentPoolLosesReplicaLaneAndLoad() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    relay.catalog.sendAll(new PoolCatalog(2, List.of(descriptor(B))));
    rig.settle();
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::poolId).containsExactly(B.poolId());
    assertThat(relay.stream(A).last().cancelled).isTrue();
    assertThat(relay.stream(B).opened()).isEqualTo(1);
    assertThat(Long.bitCount(rig.view.state().tables().get(0).boundLanes())).isEqualTo(1);
    // It comes back: the load of before does not speak for it.
    relay.catalog.sendAll(new PoolCatalog(3, List.of(descriptor(A), descriptor(B))));
    rig.settle();
    PoolMatch back = rig.match(PROMPT).pool(A.poolId()).orElseThrow();
    assertThat(back.depth()).isEqualTo(8);
    assertThat(back.load()).isEqualTo(LoadReading.NOT_REPORTED);
  }

  @Test
  void aFreedLaneNeverAnswersUnderItsFormerName() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    show(relay, 2, filter(B, first(PROMPT, 2)));
    rig.settle();
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::poolId).containsExactly(B.poolId());
    assertThat(rig.only(PROMPT).depth()).isEqualTo(2);
  }

  @Test
  void aNewGenerationDropsTheReplicaAndSubscribesUnderItsNewName() {
    ProducerIdentity next = producer(1, 1, 9, 5);
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    relay.show(2, descriptor(next));
    rig.settle();
    assertThat(relay.stream(A).last().cancelled).isTrue();
    assertThat(relay.stream(next).opened()).isEqualTo(1);
    assertThat(rig.only(PROMPT).answer()).isEqualTo(PoolAnswer.NO_REPLICA);
    assertThat(rig.count(ViewCounter.POOLS_REFUSED_NO_LANE)).as("it waited for its lane").isZero();
    ScriptedFilter filter = filter(next, first(PROMPT, 3));
    filter.snapshot(1).forEach(frame -> relay.publish(filter, frame));
    rig.settle();
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
    relay.stream(A).last().force(filter(A, PROMPT).heartbeat());
    rig.settle();
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
  }

  @Test
  void aNewGenerationOfATablesOnlyPoolKeepsTheTable() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    ViewTable before = rig.view.board().slot(A.poolId()).table();
    show(relay, 2, filter(producer(1, 1, 9, 5), first(PROMPT, 3)));
    rig.settle();
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
    assertThat(rig.view.board().slot(A.poolId()).table()).isNotNull().isSameAs(before);
    relay.catalog.sendAll(new PoolCatalog(3, List.of()));
    rig.settle();
    assertThat(rig.view.state().tables()).isEmpty();
  }

  @Test
  void metadataAloneDoesNotRestartTheFilterStream() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    relay.catalog.sendAll(
        new PoolCatalog(
            2, List.of(descriptor(A, WorkerRole.PREFILL, ModelRegistration.base("renamed")))));
    rig.settle();
    assertThat(relay.stream(A).opened()).isEqualTo(1);
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    PrefixMatch renamed = rig.view.match(PrefixRequest.of("renamed", PROMPT));
    assertThat(renamed.pools().get(0).depth()).isEqualTo(8);
    assertThat(renamed.pools().get(0).readiness()).isEqualTo(PoolReadiness.NOT_REPORTED);
  }

  @Test
  void aQuarantinedPoolLosesItsOldStateAndItsNeighboursKeepTheirs() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    QuarantinedEntry entry = new QuarantinedEntry(A.poolId(), "A", true, "hash_format = 9");
    relay.catalog.sendAll(new PoolCatalog(2, List.of(descriptor(B)), List.of(entry)));
    rig.settle();
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::poolId).containsExactly(B.poolId());
    assertThat(relay.stream(A).last().cancelled).isTrue();
    assertThat(relay.stream(B).opened()).isEqualTo(1);
    assertThat(rig.view.state().sources().get(0).quarantined()).containsExactly(entry);
    assertThat(rig.view.state().sources().get(0).trust()).isEqualTo(SourceState.Trust.DEGRADED);
  }

  @Test
  void aRevisionZeroCatalogWithoutPoolsConcludesNothingAndIsCurrent() {
    relay.catalog.answer(PoolCatalog.EMPTY);
    rig.attach(relay);
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(rig.view.state().sources().get(0).planes().get(PlaneKind.CATALOG).status())
        .isEqualTo(PlaneStatus.CURRENT);
  }

  // Planes are independent.

  private void assertAllCurrent() {
    PoolMatch match = rig.only(PROMPT);
    assertThat(match.depth()).isEqualTo(8);
    assertThat(match.readiness()).isEqualTo(PoolReadiness.READY);
    assertThat(match.load().isKnown()).isTrue();
    assertThat(rig.view.state().sources().get(0).trust()).isEqualTo(SourceState.Trust.EXACT);
  }

  @Test
  void aLoadFaultLeavesFilterReadinessAndCatalogAlone() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    assertAllCurrent();
    relay.load.last().fail(failure(RelayErrorReason.SUBSCRIBER_LAGGED));
    rig.settle();
    PoolMatch match = rig.only(PROMPT);
    assertThat(match.load()).isEqualTo(LoadReading.DISCONNECTED);
    assertThat(match.depth()).isEqualTo(8);
    assertThat(match.readiness()).isEqualTo(PoolReadiness.READY);
    assertThat(relay.catalog.opened()).isEqualTo(1);
    rig.advance(Duration.ofMillis(500));
    assertAllCurrent();
    assertThat(relay.stream(A).opened()).isEqualTo(1);
  }

  @Test
  void aReadinessFaultLeavesFilterLoadAndCatalogAlone() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    relay.readiness.last().complete();
    rig.settle();
    PoolMatch match = rig.only(PROMPT);
    assertThat(match.readiness()).isEqualTo(PoolReadiness.DISCONNECTED);
    assertThat(match.depth()).isEqualTo(8);
    assertThat(match.load().isKnown()).isTrue();
    rig.advance(Duration.ofMillis(500));
    assertAllCurrent();
    assertThat(relay.stream(A).opened()).isEqualTo(1);
  }

  @Test
  void aFilterFaultLeavesCatalogReadinessLoadAndOtherFiltersAlone() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    relay.stream(A).last().fail(failure(RelayErrorReason.PUBLICATION_UNAVAILABLE));
    rig.settle();
    PoolMatch match = rig.match(PROMPT).pool(A.poolId()).orElseThrow();
    assertThat(match.answer()).isEqualTo(PoolAnswer.NO_REPLICA);
    assertThat(match.detail()).contains("PUBLICATION_UNAVAILABLE");
    assertThat(match.readiness()).isEqualTo(PoolReadiness.READY);
    assertThat(match.load().isKnown()).isTrue();
    assertThat(rig.depth(B.poolId(), PROMPT)).isEqualTo(8);
    rig.advance(Duration.ofMillis(500));
    assertThat(rig.depth(A.poolId(), PROMPT)).isEqualTo(8);
    assertThat(relay.stream(B).opened()).isEqualTo(1);
    assertThat(relay.catalog.opened()).isEqualTo(1);
  }

  @Test
  void aCatalogFaultKeepsTheFilterStreamsAndLeavesNamesUnresolvedUntilTheNextSnapshot() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    relay.catalog.last().complete();
    rig.settle();
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(relay.stream(A).last().cancelled).isFalse();
    assertThat(rig.view.installedSequence(A.poolId())).hasValue(0);
    assertThat(rig.view.state().sources().get(0).trust()).isEqualTo(SourceState.Trust.UNKNOWN);
    rig.advance(Duration.ofMillis(500));
    assertAllCurrent();
    assertThat(relay.stream(A).opened()).isEqualTo(1);
  }

  @Test
  void aPoolThatWentWhileTheCatalogWasDownIsReleasedByTheNextSnapshot() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    relay.catalog.last().complete();
    rig.settle();
    relay.catalog.answer(new PoolCatalog(1, List.of(descriptor(B))));
    rig.advance(Duration.ofMillis(500));
    assertThat(relay.stream(A).last().cancelled).isTrue();
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::poolId).containsExactly(B.poolId());
  }

  @Test
  void anUndecodableFrameInvalidatesOnlyThatReplica() {
    ScriptedFilter broken = filter(A, PROMPT);
    show(relay, 1, broken, filter(B, PROMPT));
    rig.attach(relay);
    relay.publish(
        broken,
        ScriptedFilter.frame(A, PublicationFrame.Kind.DELTA, 0, 1, ByteBuffer.allocate(60)));
    rig.settle();
    assertThat(rig.match(PROMPT).pool(A.poolId()).orElseThrow().hasAnswer()).isFalse();
    assertThat(rig.depth(B.poolId(), PROMPT)).isEqualTo(8);
    assertThat(rig.count(ViewCounter.REPLICAS_WITHDRAWN)).isEqualTo(1);
  }

  @Test
  void aGapInTheDeltasWithdrawsTheReplicaAndANewSnapshotHealsIt() {
    ScriptedFilter filter = filter(A, first(PROMPT, 2));
    show(relay, 1, filter);
    rig.attach(relay);
    long[] hashes = hashes(PROMPT);
    filter.store(hashes[2]); // lost on the way
    relay.publish(filter, filter.store(hashes[3]));
    rig.settle();
    assertThat(rig.only(PROMPT).hasAnswer()).isFalse();
    rig.advance(Duration.ofMillis(500));
    assertThat(rig.only(PROMPT).depth()).isEqualTo(4);
    assertThat(rig.view.installedSequence(A.poolId())).hasValue(2);
  }

  @Test
  void aRepeatedDeltaFailsTheStreamToo() {
    ScriptedFilter filter = filter(A, first(PROMPT, 2));
    show(relay, 1, filter);
    rig.attach(relay);
    PublicationFrame delta = filter.store(hashes(PROMPT)[2]);
    relay.publish(filter, delta);
    relay.publish(filter, delta);
    rig.settle();
    assertThat(rig.only(PROMPT).hasAnswer()).isFalse();
    rig.advance(Duration.ofMillis(500));
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
  }

  @Test
  void aRefusedGenerationLooksIntoTheCatalogFirst() {
    ScriptedFilter filter = filter(A, PROMPT);
    relay.stream(A).refuse(failure(RelayErrorReason.PRODUCER_CHANGED));
    relay.show(1, descriptor(A));
    rig.attach(relay);
    relay.serve(filter);
    assertThat(relay.catalog.opened()).isEqualTo(1);
    rig.advance(Duration.ofMillis(500));
    assertThat(relay.catalog.opened()).as("one look, besides the plane").isEqualTo(2);
    assertThat(relay.catalog.live()).hasSize(1);
    assertThat(rig.only(PROMPT).depth()).isEqualTo(8);
    assertThat(rig.count(ViewCounter.CATALOG_REFRESHES)).isEqualTo(1);
  }

  @Test
  void aRuntimeThatWouldNotTimeALookIntoTheCatalogDoesNotStrandTheReplica() {
    VirtualRuntime time = VirtualRuntime.inOrder(1);
    AtomicInteger refusals = new AtomicInteger();
    KvGlobalView view =
        KvGlobalView.create(
            ViewConfig.builder().lanes(4).connectTimeout(Duration.ofSeconds(7)).build(),
            new RefusingRuntime(time, refusals));
    ScriptedFilter filter = filter(A, PROMPT);
    relay.stream(A).refuse(failure(RelayErrorReason.PRODUCER_CHANGED));
    relay.show(1, descriptor(A));
    view.attach(relay);
    time.runUntilIdle();
    relay.serve(filter);
    refusals.set(1);
    time.advance(Duration.ofMillis(500));
    assertThat(refusals).as("the look had no timer").hasValue(0);
    time.advance(Duration.ofSeconds(5));
    assertThat(view.statistics().count(ViewCounter.CATALOG_REFRESHES_FAILED)).isEqualTo(1);
    assertThat(view.installedSequence(A.poolId())).hasValue(0);
  }

  /** Refuses the timers of looks into a catalog, ten seconds, some times. */
  private static final class RefusingRuntime extends ForwardingRuntime {
    private final AtomicInteger refusals;

    RefusingRuntime(RelayRuntime target, AtomicInteger refusals) {
      super(target);
      this.refusals = refusals;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      if (delayNanos == Duration.ofSeconds(10).toNanos() && refusals.get() > 0) {
        refusals.getAndDecrement();
        throw new RejectedExecutionException("no timers");
      }
      return super.schedule(delayNanos, task);
    }
  }

  // Bounds.

  @Test
  void aPoolBeyondTheLanesIsRefusedByNameAndTakesTheNextFreeLane() {
    ViewRig narrow = new ViewRig(ViewConfig.builder().lanes(2).build());
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT), filter(C, PROMPT));
    narrow.attach(relay);
    PoolMatch refused = narrow.match(PROMPT).pool(C.poolId()).orElseThrow();
    assertThat(refused.answer()).isEqualTo(PoolAnswer.NO_LANE);
    assertThat(refused.detail()).contains(C.poolId().toString());
    assertThat(narrow.count(ViewCounter.POOLS_REFUSED_NO_LANE)).isEqualTo(1);
    assertThat(relay.stream(C).opened()).isZero();
    relay.catalog.sendAll(new PoolCatalog(2, List.of(descriptor(B), descriptor(C))));
    narrow.settle();
    assertThat(narrow.depth(C.poolId(), PROMPT)).isEqualTo(8);
    assertThat(narrow.count(ViewCounter.POOLS_REFUSED_NO_LANE)).isEqualTo(1);
  }

  @Test
  void sixtyFourPoolsShareOneTable() {
    ViewRig wide = new ViewRig(ViewConfig.builder().lanes(64).build());
    List<ScriptedFilter> filters = new ArrayList<>();
    for (int dc = 1; dc <= 64; dc++) {
      filters.add(filter(producer(1, dc, 9, dc), first(PROMPT, dc % 9)));
    }
    show(relay, 1, filters.toArray(new ScriptedFilter[0]));
    wide.attach(relay);
    assertThat(wide.view.state().tables()).hasSize(1);
    for (int dc = 1; dc <= 64; dc++) {
      assertThat(wide.depth(pool(1, dc), PROMPT)).isEqualTo(dc % 9);
    }
  }

  @Test
  void aTableBeyondTheMemoryBoundIsRefused() {
    long oneTable = 8L * 4 * 64;
    ViewRig small = new ViewRig(ViewConfig.builder().lanes(4).maxTableBytes(oneTable).build());
    ProducerIdentity other = producer(2, 1, 9, 4);
    show(relay, 1, filter(A, PROMPT), filter(other, PROMPT));
    small.attach(relay);
    assertThat(small.depth(A.poolId(), PROMPT)).isEqualTo(8);
    PoolMatch refused = small.match(PROMPT).pool(other.poolId()).orElseThrow();
    assertThat(refused.answer()).isEqualTo(PoolAnswer.NO_LANE);
    assertThat(refused.detail()).contains("max_table_bytes = " + oneTable);
    assertThat(small.count(ViewCounter.POOLS_REFUSED_NO_MEMORY)).isEqualTo(1);
    // Once the first table is gone, there is room.
    relay.catalog.sendAll(new PoolCatalog(2, List.of(descriptor(other))));
    small.settle();
    assertThat(small.depth(other.poolId(), PROMPT)).isEqualTo(8);
  }

  // Several sources.

  @Test
  void sourcesOfOneDomainShareATableAndStandAlone() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity far = producer(1, 2, 10, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(far, first(PROMPT, 3)));
    rig.attach(relay);
    Attachment attachment = rig.attach(second);
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::depth).containsExactly(8, 3);
    assertThat(rig.view.state().tables()).hasSize(1);
    attachment.close();
    rig.settle();
    assertThat(attachment.detached().toCompletableFuture()).isCompleted();
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::depth).containsExactly(8);
    assertThat(second.catalog.live()).isEmpty();
    assertThat(second.readiness.live()).isEmpty();
    assertThat(second.load.live()).isEmpty();
    assertThat(second.stream(far).live()).isEmpty();
    assertThat(relay.stream(A).opened()).isEqualTo(1);
  }

  @Test
  void aPoolThatTwoSourcesShowStaysWithTheFirstAndMovesWhenThatOneLetsGo() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity twin = producer(1, 1, 10, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(twin, first(PROMPT, 3)));
    Attachment first = rig.attach(relay);
    Attachment other = rig.attach(second);
    assertThat(rig.only(PROMPT).depth()).isEqualTo(8);
    assertThat(rig.count(ViewCounter.POOLS_REFUSED_DUPLICATE)).isEqualTo(1);
    assertThat(other.state().pools().get(0).replica().reason()).contains(first.label());
    first.close();
    rig.settle();
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
    assertThat(rig.only(PROMPT).descriptor().producer()).isEqualTo(twin);
  }

  @Test
  void aPoolIsNotTakenFromTheSourceThatHasItByOneThatWasAttachedBefore() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity twin = producer(1, 1, 10, 1);
    relay.catalog.answer(PoolCatalog.EMPTY);
    show(second, 1, filter(twin, first(PROMPT, 3)));
    rig.attach(relay);
    rig.attach(second);
    show(relay, 1, filter(A, PROMPT));
    rig.settle();
    assertThat(rig.only(PROMPT).descriptor().producer()).isEqualTo(twin);
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
    assertThat(second.stream(twin).opened()).isEqualTo(1);
    assertThat(relay.stream(A).opened()).isZero();
  }

  @Test
  void aPoolMovesToAnotherSourceWhenItsOwnLosesTheCatalog() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity twin = producer(1, 1, 10, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(twin, first(PROMPT, 3)));
    rig.attach(relay);
    rig.attach(second);
    relay.catalog.last().fail(failure(RelayErrorReason.PUBLICATION_UNAVAILABLE));
    rig.settle();
    assertThat(rig.only(PROMPT).depth()).isEqualTo(3);
  }

  @Test
  void domainsAndFormatsHaveTablesOfTheirOwnAndOneQueryCoversThem() {
    ProducerIdentity other = producer(2, 1, 9, 4);
    show(relay, 1, filter(A, PROMPT), filter(other, first(PROMPT, 4)));
    rig.attach(relay);
    assertThat(rig.view.state().tables()).hasSize(2);
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::depth).containsExactly(8, 4);
    relay.catalog.sendAll(new PoolCatalog(2, List.of(descriptor(A))));
    rig.settle();
    assertThat(rig.view.state().tables()).as("an empty table is given back").hasSize(1);
  }

  // Ends.

  @Test
  void aSourceThatShutsDownIsDetached() {
    show(relay, 1, filter(A, PROMPT));
    Attachment attachment = rig.attach(relay);
    relay.catalog.last().complete();
    relay.shutdown.complete(null);
    rig.settle();
    assertThat(attachment.detached().toCompletableFuture()).isCompleted();
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    rig.advance(ViewRig.LONG);
    assertThat(relay.catalog.opened()).isEqualTo(1);
    assertThat(rig.view.state().sources()).isEmpty();
  }

  @Test
  void closingTheViewLetsGoOfEverything() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    CompletableFuture<Void> never = rig.view.awaitSequence(A.poolId(), 99);
    rig.view.close();
    rig.settle();
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(relay.stream(A).live()).isEmpty();
    assertThat(relay.catalog.live()).isEmpty();
    assertThat(rig.view.state().tables()).isEmpty();
    assertThat(never).isCompletedExceptionally();
    assertThatThrownBy(() -> rig.view.attach(relay))
        .isInstanceOfSatisfying(
            RelayException.class, e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.CLOSED));
    rig.advance(ViewRig.LONG);
    assertThat(rig.runtime.pendingTimers()).isZero();
  }

  @Test
  void aSourceThatChangesItsIdentityIsNotFollowedAnyFurther() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    relay.identity = new RelayIdentity(7, 10);
    relay.catalog.last().complete();
    rig.advance(Duration.ofSeconds(1));
    assertThat(relay.catalog.opened()).isEqualTo(1);
    assertThat(rig.view.state().sources().get(0).planes().get(PlaneKind.CATALOG).reason())
        .contains("relay identity = 7/10: was 7/9 before");
  }

  // Ages.

  @Test
  void onlyTheSignalThatIsTooOldExpires() {
    ViewRig aging =
        new ViewRig(
            ViewConfig.builder()
                .lanes(4)
                .maxAge(PlaneKind.CATALOG, Duration.ofSeconds(40))
                .maxAge(PlaneKind.READINESS, Duration.ofSeconds(30))
                .maxAge(PlaneKind.LOAD, Duration.ofSeconds(3))
                .maxAge(PlaneKind.FILTER, Duration.ofSeconds(20))
                .build());
    ScriptedFilter filter = filter(A, PROMPT);
    show(relay, 1, filter);
    aging.attach(relay);
    aging.advance(Duration.ofSeconds(3));
    assertThat(aging.only(PROMPT).load().isKnown()).isTrue();
    aging.advance(Duration.ofMillis(1));
    assertThat(aging.only(PROMPT).load()).isEqualTo(LoadReading.STALE);
    assertThat(aging.only(PROMPT).load().usedBlocks()).isEmpty();
    assertThat(aging.only(PROMPT).depth()).isEqualTo(8);
    aging.advance(Duration.ofSeconds(18));
    assertThat(aging.only(PROMPT).answer()).isEqualTo(PoolAnswer.STALE);
    assertThat(aging.only(PROMPT).depthBlocks()).isEmpty();
    assertThat(aging.only(PROMPT).readiness()).isEqualTo(PoolReadiness.READY);
    relay.publish(filter, filter.heartbeat());
    aging.settle();
    assertThat(aging.only(PROMPT).depth()).isEqualTo(8);
    aging.advance(Duration.ofSeconds(10));
    assertThat(aging.only(PROMPT).readiness()).isEqualTo(PoolReadiness.STALE);
    assertThat(aging.only(PROMPT).catalogFresh()).isTrue();
    aging.advance(Duration.ofSeconds(10));
    assertThat(aging.only(PROMPT).catalogFresh()).isFalse();
    assertThat(aging.view.state().sources().get(0).trust()).isEqualTo(SourceState.Trust.DEGRADED);
  }

  @Test
  void withoutAnAgeNothingIsEverStale() {
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    rig.advance(Duration.ofDays(3));
    assertAllCurrent();
  }

  // Diagnosis.

  @Test
  void anExplanationShowsHashesDepthsAndWhereEachSourceStands() {
    show(relay, 1, filter(A, first(PROMPT, 3)));
    rig.attach(relay);
    Explanation explanation = rig.view.explain(PrefixRequest.of(MODEL, PROMPT));
    Explanation.Hashes hashes = explanation.hashes().get(ScriptedRelay.SEMANTICS);
    assertThat(hashes.sequence())
        .containsExactlyElementsOf(Arrays.stream(hashes(PROMPT)).boxed().toList());
    assertThat(hashes.local()).hasSize(8);
    assertThat(hashes.local().get(0)).isEqualTo(hashes.sequence().get(0));
    assertThat(explanation.match().pools().get(0).depth()).isEqualTo(3);
    SourceState source = explanation.state().sources().get(0);
    assertThat(source.relay()).isEqualTo(relay.identity);
    assertThat(source.trust()).isEqualTo(SourceState.Trust.EXACT);
    assertThat(source.pools().get(0).installedSequence()).hasValue(0);
    assertThat(source.pools().get(0).replica().status()).isEqualTo(PlaneStatus.CURRENT);
  }

  @Test
  void listenersHearChangesAndABrokenOneHurtsNobody() {
    List<String> heard = new ArrayList<>();
    rig.view.addListener(
        new ViewListener() {
          @Override
          public void planeChanged(
              String source, PlaneKind plane, PlaneStatus status, String reason) {
            throw new IllegalStateException("broken");
          }

          @Override
          public void replicaChanged(
              String source, PoolId pool, PlaneStatus status, String reason) {
            throw new IllegalStateException("broken");
          }
        });
    KvGlobalView.Registration registration =
        rig.view.addListener(
            new ViewListener() {
              @Override
              public void planeChanged(
                  String source, PlaneKind plane, PlaneStatus status, String reason) {
                heard.add(plane + " " + status);
              }

              @Override
              public void replicaChanged(
                  String source, PoolId pool, PlaneStatus status, String reason) {
                heard.add(pool.dcId().value() + " " + status);
              }
            });
    show(relay, 1, filter(A, PROMPT));
    rig.attach(relay);
    assertThat(heard).contains("CATALOG CURRENT", "LOAD CURRENT", "1 CONNECTING", "1 CURRENT");
    assertThat(rig.count(ViewCounter.LISTENER_FAILURES)).isEqualTo(heard.size());
    registration.close();
    heard.clear();
    relay.stream(A).last().complete();
    rig.settle();
    assertThat(heard).isEmpty();
  }

  @Test
  void poolsListsWhatTheCatalogsShow() {
    show(relay, 1, filter(A, PROMPT), filter(B, PROMPT));
    rig.attach(relay);
    assertThat(rig.view.pools())
        .extracting(PoolDescriptor::poolId)
        .containsExactly(A.poolId(), B.poolId());
  }

  // Cost.

  @Test
  void aReusedQueryAllocatesNothing() {
    ViewRig aging =
        new ViewRig(
            ViewConfig.builder().lanes(4).maxAge(PlaneKind.FILTER, Duration.ofHours(1)).build());
    int[] long1 = prompt(1, 30);
    show(relay, 1, filter(A, first(long1, 9)), filter(B, first(long1, 20)));
    aging.attach(relay);
    ViewQuery query = aging.view.newQuery();
    long[] sum = new long[1];
    long bytes =
        Allocations.bytes(
            1000,
            () -> {
              query
                  .clear()
                  .model(MODEL)
                  .cacheNamespace("tenant")
                  .role(WorkerRole.AGGREGATED)
                  .tokens(long1, 0, long1.length)
                  .object(5, 100, 108)
                  .run();
              for (int i = 0; i < query.size(); i++) {
                sum[0] += query.depthBlocks(i) + query.load(i).used();
                sum[0] += query.readiness(i) == PoolReadiness.READY ? 1 : 0;
                sum[0] += query.answer(i) == PoolAnswer.DEPTH ? 1 : 0;
              }
            });
    assertThat(bytes).isZero();
    assertThat(sum[0]).isPositive();
  }

  @Test
  void aQueryWithoutModelOrPromptIsAMistake() {
    assertThatThrownBy(() -> rig.view.newQuery().tokens(PROMPT, 0, 4).run())
        .hasMessageContaining("model");
    assertThatThrownBy(() -> rig.view.newQuery().model(MODEL).run()).hasMessageContaining("tokens");
  }
}
