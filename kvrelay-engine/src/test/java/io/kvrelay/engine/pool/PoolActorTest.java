package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.A1;
import static io.kvrelay.engine.pool.PoolFixtures.B;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_1;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_2;
import static io.kvrelay.engine.pool.PoolFixtures.range;
import static io.kvrelay.engine.pool.PoolFixtures.remove;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import io.kvrelay.engine.testing.Settled;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PoolActorTest {
  private static final long PUBLISHER = 99;

  private final VirtualRuntime virtual = VirtualRuntime.inOrder(1);
  private final Settled settled = new Settled(virtual);
  private final HeldCopies held = new HeldCopies(virtual);
  private final FaultyMemory memory = new FaultyMemory();
  private PoolActor pool = pool(PoolConfig.builder().expectedUniqueBlocks(1000).build(), 0);

  private PoolActor pool(PoolConfig config, long lastSequence) {
    return new PoolActor(
        config, PoolFixtures.identity(config.format()), virtual, memory, lastSequence);
  }

  private PoolActor poolWithHeldCopies() {
    PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(1000).build();
    return new PoolActor(config, PoolFixtures.identity(config.format()), held, memory, 0);
  }

  private static PoolConfig everyEvent() {
    return PoolConfig.builder().expectedUniqueBlocks(1000).publicationThreshold(1).build();
  }

  private void apply(KvEvent.Builder event) {
    pool.admit(event.build(), PUBLISHER);
    virtual.runUntilIdle();
  }

  private <T> T join(CompletionStage<T> stage) {
    return settled.join(stage);
  }

  private RelayException failure(CompletionStage<?> stage) {
    return settled.failure(stage);
  }

  private PoolSnapshot subscribe(LaneLease lease) {
    return join(pool.subscribe(lease));
  }

  private static void assertDelta(PoolDelta delta, long base, LaneLease lease) {
    assertThat(delta).isNotNull();
    assertThat(delta.baseSequence()).isEqualTo(base);
    assertThat(delta.sequence()).isEqualTo(base + 1);
    assertThat(delta.lease()).isEqualTo(lease);
  }

  @Test
  void aPoolWhoseSnapshotCopyIsRefusedByTheExecutorEnds() {
    pool = poolWithHeldCopies();
    held.refuse();
    try (RecordedLog log = RecordedLog.of(PoolActor.class)) {
      assertThat(failure(pool.subscribe(LEASE_1)).reason()).isEqualTo(RelayErrorReason.INTERNAL);
      assertThat(log.thrown()).singleElement().isInstanceOf(RejectedExecutionException.class);
    }
    join(pool.terminated());
    assertThat(pool.fenceReason()).contains("on purpose");
    join(pool.retireLease(LEASE_1));
  }

  @Test
  void whoWaitedForAdmissionIsToldThoughTheExecutorStopped() {
    AdmissionGate gate =
        new AdmissionGate(
            command -> {},
            task -> {
              throw new RejectedExecutionException("on purpose");
            },
            () -> new IllegalStateException("closed"));
    PoolCommand first = new PoolCommand.Flush();
    gate.admit(first);
    for (int i = 1; i < AdmissionGate.COMMANDS; i++) {
      gate.admit(new PoolCommand.Flush());
    }
    CompletionStage<Void> waiting = gate.admit(new PoolCommand.Flush());
    assertThat(waiting.toCompletableFuture()).isNotDone();
    gate.release(first);
    assertThat(waiting.toCompletableFuture()).isCompleted();
  }

  // Cadence

  @Test
  void theSixteenthPrimaryEventPublishesEvenIfItChangesNothing() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    for (int i = 0; i < 15; i++) {
      apply(store(A, 1));
    }
    assertThat(snapshot.deltas().poll()).isNull();

    apply(store(A, 1));

    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    assertThat(snapshot.deltas().poll()).isNull();
  }

  @Test
  void aLoneEventIsPublishedByTheTimerOnce() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    virtual.advance(Duration.ofNanos(999_999));
    assertThat(snapshot.deltas().poll()).isNull();

    virtual.advance(Duration.ofNanos(1));

    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    virtual.advance(Duration.ofMillis(10));
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(virtual.pendingTimers()).isZero();
  }

  @Test
  void eventsAfterTheFirstDoNotPutTheTimerOff() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    for (int i = 0; i < 10; i++) {
      apply(store(A, i));
      virtual.advance(Duration.ofNanos(100_000));
    }
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
  }

  @Test
  void aBoundaryByCountDisarmsTheTimerAndTheNextEventWaitsAWholeDelay() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    virtual.advance(Duration.ofNanos(600_000));
    for (int i = 2; i <= 16; i++) {
      apply(store(A, i));
    }
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    apply(store(A, 17));
    virtual.advance(Duration.ofNanos(600_000));
    assertThat(snapshot.deltas().poll()).isNull();

    virtual.advance(Duration.ofNanos(400_000));
    assertDelta(snapshot.deltas().poll(), 1, LEASE_1);
  }

  @Test
  void aFlushDisarmsTheTimer() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    join(pool.flush());
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);

    virtual.advance(Duration.ofMillis(5));

    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.statistics().lastSequence()).isEqualTo(1);
  }

  @Test
  void anIgnoredEventNeitherCountsNorStartsTheTimer() {
    subscribe(LEASE_1);
    apply(store(A, 1).tier(io.kvrelay.api.StorageTier.DISK));

    assertThat(virtual.pendingTimers()).isZero();
    assertThat(pool.statistics().pool().pendingEvents()).isZero();
    assertThat(pool.statistics().pool().ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(1);
  }

  // Admission

  @Test
  void admissionCompletesBeforeTheEventIsApplied() {
    CompletionStage<Void> admitted = pool.admit(store(A, 1).build(), PUBLISHER);

    assertThat(admitted.toCompletableFuture()).isCompleted();
    assertThat(pool.state().mappingCount(A)).isZero();
    virtual.runUntilIdle();
    assertThat(pool.state().mappingCount(A)).isEqualTo(1);
  }

  @Test
  void aFullMailboxHoldsCommandsBackAndDropsNone() {
    for (int i = 0; i < AdmissionGate.COMMANDS; i++) {
      assertThat(pool.admit(store(A, i).build(), PUBLISHER).toCompletableFuture()).isCompleted();
    }
    CompletableFuture<Void> late =
        pool.admit(store(A, 900).build(), PUBLISHER).toCompletableFuture();
    CompletableFuture<Void> later =
        pool.admit(store(A, 901).build(), PUBLISHER).toCompletableFuture();
    assertThat(late).isNotDone();
    assertThat(pool.statistics().waitingCommands()).isEqualTo(2);

    virtual.runUntilIdle();

    assertThat(late).isCompleted();
    assertThat(later).isCompleted();
    assertThat(pool.state().mappingCount(A)).isEqualTo(AdmissionGate.COMMANDS + 2);
    assertThat(pool.statistics().queuedCommands()).isZero();
    assertThat(pool.statistics().usedPermits()).isZero();
  }

  @Test
  void anEventOfMoreBlocksThanAllPermitsIsAdmittedAlone() {
    KvEvent huge = KvEvent.removed(A, 1, new long[AdmissionGate.PERMITS + 10]).build();
    pool.admit(store(A, 1).build(), PUBLISHER);
    CompletableFuture<Void> admitted = pool.admit(huge, PUBLISHER).toCompletableFuture();
    CompletableFuture<Void> behind =
        pool.admit(store(A, 2).build(), PUBLISHER).toCompletableFuture();
    assertThat(admitted).isNotDone();
    assertThat(behind).isNotDone();

    virtual.runUntilIdle();

    assertThat(admitted).isCompleted();
    assertThat(behind).isCompleted();
    assertThat(pool.statistics().pool().unknownRemovals()).isEqualTo(AdmissionGate.PERMITS + 10);
    assertThat(pool.state().mappingCount(A)).isEqualTo(2);
  }

  @Test
  void aBlockingAdmissionReturnsOnceTheEventIsInTheMailbox() throws InterruptedException {
    pool.admitBlocking(store(A, 1).build(), PUBLISHER);
    virtual.runUntilIdle();
    assertThat(pool.state().mappingCount(A)).isEqualTo(1);

    pool.shutdown();
    assertThatThrownBy(() -> pool.admitBlocking(store(A, 1).build(), PUBLISHER))
        .isInstanceOf(RelayException.class);
  }

  // Snapshots

  @Test
  void aSnapshotAndItsDeltasRebuildTheProducersWords() {
    apply(store(A, range(1, 40)));
    PoolSnapshot snapshot = subscribe(LEASE_1);
    Mirror mirror = new Mirror(snapshot.words());
    assertThat(mirror.words).isEqualTo(pool.state().copyWords());
    apply(store(B, range(30, 80)));
    apply(remove(A, range(10, 20)));
    join(pool.flush());

    PoolDelta delta = snapshot.deltas().poll();
    assertDelta(delta, 0, LEASE_1);
    mirror.apply(new BucketImages(delta.buckets(), delta.words()));

    assertThat(mirror.words).isEqualTo(pool.state().copyWords());
  }

  @Test
  void nothingAppliesBetweenTheImageAndItsSequence() {
    pool = poolWithHeldCopies();
    CompletionStage<PoolSnapshot> pending = pool.subscribe(LEASE_1);
    virtual.runUntilIdle();
    apply(store(A, 1));
    CompletionStage<Long> flushed = pool.flush();
    virtual.runUntilIdle();

    assertThat(held.held()).isEqualTo(1);
    assertThat(pool.state().mappingCount(A)).isZero();
    assertThat(flushed.toCompletableFuture()).isNotDone();
    held.release();

    PoolSnapshot snapshot = join(pending);
    assertThat(snapshot.sequence()).isZero();
    assertThat(snapshot.words()).containsOnly(0L);
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
  }

  @Test
  void aFlushTellsTheSequenceThatCoversWhatWasAdmitted() {
    assertThat(join(pool.flush())).isZero();
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    assertThat(join(pool.flush())).isEqualTo(1);
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    assertThat(join(pool.flush())).isEqualTo(1);
  }

  @Test
  void aCopyOfTheFilterDisturbsNeitherLeaseNorSequence() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    long[] words = join(pool.filterWords());
    assertThat(words).isEqualTo(pool.state().copyWords()).isNotEqualTo(snapshot.words());
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(join(pool.flush())).isEqualTo(1);
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    pool.fence("stop");
    assertThat(failure(pool.filterWords()).getMessage()).contains("stop");
  }

  @Test
  void aHealthyOldLeaseGetsItsTailBeforeTheNewOneStarts() {
    PoolSnapshot first = subscribe(LEASE_1);
    apply(store(A, 1));

    PoolSnapshot second = subscribe(LEASE_2);

    assertDelta(first.deltas().poll(), 0, LEASE_1);
    assertThat(first.deltas().isClosed()).isTrue();
    assertThat(second.sequence()).isEqualTo(1);
    assertThat(second.lease()).isEqualTo(LEASE_2);
    assertThat(second.deltas().poll()).isNull();
  }

  @Test
  void aTailThatTheOldLeaseCannotTakeAbortsAndTheRetrySkipsIt() {
    PoolSnapshot first = subscribe(LEASE_1);
    apply(store(A, 1));
    first.deltas().close();

    assertThat(failure(pool.subscribe(LEASE_2)).reason())
        .isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    PoolSnapshot retried = subscribe(LEASE_2);

    assertThat(retried.sequence()).isZero();
    assertThat(retried.words()).isEqualTo(pool.state().copyWords());
    apply(store(A, 2));
    join(pool.flush());
    assertDelta(retried.deltas().poll(), 0, LEASE_2);
  }

  @Test
  void aSnapshotThatCannotBeAllocatedKeepsTheTailAndCanBeRetried() {
    PoolSnapshot first = subscribe(LEASE_1);
    apply(store(A, 1));
    memory.untilFailure = 0;

    RelayException failure = failure(pool.subscribe(LEASE_2));

    assertThat(failure.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(pool.statistics().pool().pendingEvents()).isEqualTo(1);
    assertThat(pool.statistics().pool().dirtyBuckets()).isEqualTo(1);
    assertThat(first.deltas().isClosed()).isFalse();
    assertThat(subscribe(LEASE_2).sequence()).isEqualTo(1);
    assertDelta(first.deltas().poll(), 0, LEASE_1);
  }

  @Test
  void aTailThatCannotBeAllocatedFailsTheSnapshotAndIsPublishedLater() {
    PoolSnapshot first = subscribe(LEASE_1);
    apply(store(A, 1));
    memory.untilFailure = 1;

    assertThat(failure(pool.subscribe(LEASE_2)).reason())
        .isEqualTo(RelayErrorReason.RESOURCE_LIMIT);

    virtual.advance(Duration.ofMillis(2));
    assertDelta(first.deltas().poll(), 0, LEASE_1);
    assertThat(pool.statistics().pool().deferredDrains()).isEqualTo(1);
  }

  @Test
  void imagesThatCannotBeAllocatedAreTriedAgainByTheTimer() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    memory.untilFailure = 0;
    assertThat(failure(pool.flush()).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(snapshot.deltas().poll()).isNull();

    virtual.advance(Duration.ofMillis(2));

    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
  }

  @Test
  void aRequesterThatHasGoneRetiresItsLease() {
    pool = poolWithHeldCopies();
    CompletionStage<PoolSnapshot> pending = pool.subscribe(LEASE_1);
    virtual.runUntilIdle();
    pending.toCompletableFuture().cancel(true);
    held.release();

    assertThat(pool.publisher().lease()).isNull();
    assertThat(pool.statistics().leased()).isFalse();
  }

  @Test
  void aFenceDuringTheCopyRefusesTheSubscription() {
    pool = poolWithHeldCopies();
    CompletionStage<PoolSnapshot> pending = pool.subscribe(LEASE_1);
    virtual.runUntilIdle();
    pool.fence("a reason");
    virtual.runUntilIdle();
    assertThat(pool.terminated().toCompletableFuture()).isNotDone();
    held.release();

    assertThat(failure(pending).getMessage()).contains("a reason");
    assertThat(pool.terminated().toCompletableFuture()).isDone();
  }

  @Test
  void aShutdownDuringTheCopyTakesEffectAfterIt() {
    pool = poolWithHeldCopies();
    CompletionStage<PoolSnapshot> pending = pool.subscribe(LEASE_1);
    virtual.runUntilIdle();
    CompletionStage<Void> ended = pool.shutdown();
    virtual.runUntilIdle();
    assertThat(ended.toCompletableFuture()).isNotDone();
    held.release();

    assertThat(join(pending).deltas().isClosed()).isTrue();
    join(ended);
  }

  @Test
  void aCopyThatDiesIsReturnedAndStopsThePool() {
    memory.instead = new IllegalStateException("expected by the test");
    memory.untilFailure = 0;

    RelayException failure = failure(pool.subscribe(LEASE_1));

    assertThat(failure.reason()).isEqualTo(RelayErrorReason.INTERNAL);
    assertThat(failure).hasCause(memory.instead);
    assertThat(pool.terminated().toCompletableFuture()).isDone();
    assertThat(pool.fenceReason()).contains("expected by the test");
  }

  @Test
  void withoutANumberLeftSnapshotsAreRefusedAndTheGenerationIsFenced() {
    pool = pool(everyEvent(), -2);
    PoolSnapshot snapshot = subscribe(LEASE_1);
    assertThat(snapshot.sequence()).isEqualTo(-2);
    apply(store(A, 1));
    assertDelta(snapshot.deltas().poll(), -2, LEASE_1);

    assertThat(failure(pool.subscribe(LEASE_2)).reason())
        .isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
    apply(store(A, 2));

    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.fenceReason()).contains("sequence");
    assertThat(pool.terminated().toCompletableFuture()).isDone();
  }

  @Test
  void imagesAreBuiltOnlyOnceALeaseHasItsSnapshot() {
    for (int i = 0; i < 16; i++) {
      apply(store(A, i));
    }
    assertThat(pool.statistics().pool().emittedImages()).isZero();
    assertThat(pool.statistics().pool().distinctTouchedBuckets()).isPositive();

    PoolSnapshot snapshot = subscribe(LEASE_1);
    assertThat(snapshot.sequence()).isZero();
    join(pool.retireLease(LEASE_1));
    apply(store(A, 100));
    join(pool.flush());

    assertThat(snapshot.deltas().isClosed()).isTrue();
    assertThat(pool.statistics().batchesWithoutLease()).isEqualTo(1);
    assertThat(pool.statistics().lastSequence()).isZero();
  }

  // Barriers

  @Test
  void aReplacementIsOneAtomicDelta() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    RankReplacement replacement = new RankReplacement(A);
    replacement.push(store(A, range(1, 100)).build());

    join(pool.replaceRanks(Map.of(A, replacement)));

    PoolDelta delta = snapshot.deltas().poll();
    assertDelta(delta, 0, LEASE_1);
    assertThat(snapshot.deltas().poll()).isNull();
    Mirror mirror = new Mirror(snapshot.words());
    mirror.apply(new BucketImages(delta.buckets(), delta.words()));
    assertThat(mirror.words).isEqualTo(pool.state().copyWords());
  }

  @Test
  void severalInitialRecoveriesShareOneRebuild() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    RankReplacement first = new RankReplacement(A);
    first.push(store(A, 1, 2).build());
    RankReplacement second = new RankReplacement(B);
    second.push(store(B, 1, 3).build());

    join(pool.replaceRanks(Map.of(A, first, B, second)));

    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.state().members()).containsExactly(A, B);
  }

  @Test
  void aFailedReplacementFailsItsBarrierAndIsNoFault() {
    apply(store(B, 5));
    RankReplacement replacement = new RankReplacement(A);
    replacement.push(store(A, 1).build());
    memory.untilFailure = 0;

    assertThat(failure(pool.replaceRanks(Map.of(A, replacement))).reason())
        .isEqualTo(RelayErrorReason.RESOURCE_LIMIT);

    assertThat(pool.faults().poll()).isNull();
    assertThat(pool.state().members()).containsExactly(B);
    memory.untilFailure = -1;
    join(pool.flush());
  }

  @Test
  void afterAResetOnlyTheNewSourceCounts() {
    pool = pool(everyEvent(), 0);
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    join(pool.resetRank(A));
    apply(store(A, 2));

    for (int base = 0; base < 3; base++) {
      assertDelta(snapshot.deltas().poll(), base, LEASE_1);
    }
    assertThat(pool.state().ownerCount(1)).isZero();
    assertThat(pool.state().ownerCount(2)).isEqualTo(1);
  }

  @Test
  void aResetOfAnUnknownRankSucceeds() {
    join(pool.resetRank(A));
  }

  @Test
  void removingAWorkerRemovesItsRanksWithOnePublication() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    apply(store(A1, 2));
    apply(store(B, 3));
    join(pool.flush());
    snapshot.deltas().poll();

    join(pool.removeWorker(1));

    assertDelta(snapshot.deltas().poll(), 1, LEASE_1);
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.state().members()).containsExactly(B);
  }

  @Test
  void aResetIsTriedTwice() {
    pool = pool(PoolConfig.builder().expectedUniqueBlocks(100_000).build(), 0);
    for (int i = 0; i < 300; i++) {
      apply(store(A, range(100L * i, 100 * i + 9)));
      join(pool.flush());
    }
    // The window must grow for a clear of 3000 blocks. That fails once.
    memory.untilFailure = 0;

    join(pool.resetRank(A));

    assertThat(pool.state().members()).isEmpty();
    assertThat(pool.statistics().pool().rankErrors(KvEventErrorKind.ALLOCATION_FAILED))
        .isEqualTo(1);
  }

  // Faults

  @ParameterizedTest
  @EnumSource(KvEventErrorKind.class)
  void everyKindOfErrorHasItsDisposition(KvEventErrorKind kind) {
    PoolFault.Action expected =
        switch (kind) {
          case CAPACITY_EXHAUSTED -> null;
          case ALLOCATION_FAILED -> PoolFault.Action.RECOVER_RANK;
          case INDEXER_INVARIANT_VIOLATION -> PoolFault.Action.FENCE_PRODUCER;
          default -> PoolFault.Action.REJECT_SOURCE;
        };
    assertThat(EventDisposition.of(kind)).isEqualTo(expected);
  }

  @Test
  void anEventThatIsRefusedBecomesAFaultOfItsPublisher() {
    apply(KvEvent.stored(A, 55, new long[] {1}, new long[] {1}).parent(4));

    assertThat(pool.faults().poll())
        .isEqualTo(
            new PoolFault(
                PUBLISHER,
                A,
                55,
                KvEventErrorKind.PARENT_BLOCK_NOT_FOUND,
                PoolFault.Action.REJECT_SOURCE));
    assertThat(pool.faults().poll()).isNull();
    assertThat(pool.statistics().faults()).isEqualTo(1);
  }

  @Test
  void anAllocationFailureIsAFaultOfItsOwn() {
    memory.untilFailure = 0;
    apply(store(A, 1));

    assertThat(pool.faults().poll().action()).isEqualTo(PoolFault.Action.RECOVER_RANK);
    assertThat(pool.state().mappingCount(A)).isZero();
  }

  @Test
  void capacityOmissionsAreNoFaultAndRetireNoLease() {
    pool = pool(PoolConfig.builder().expectedUniqueBlocks(1).build(), 0);
    subscribe(LEASE_1);
    apply(store(A, range(1, 32)));

    assertThat(pool.faults().poll()).isNull();
    assertThat(pool.publisher().lease()).isEqualTo(LEASE_1);
    assertThat(pool.statistics().pool().capacityFailures()).isEqualTo(24);
  }

  @Test
  void thePublicationOfAnEventComesBeforeItsFault() {
    pool = pool(everyEvent(), 0);
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1, 2, 3));
    snapshot.deltas().poll();
    // The removal of 1 fails, since somebody took its copy out of the filter; 2 and 3 succeed.
    pool.state()
        .exact()
        .filter
        .remove(pool.state().exact().addressing.mix(1), (bucket, before) -> {});
    boolean[] publishedBefore = {false};
    pool.faults().onSignal(() -> publishedBefore[0] = pool.statistics().publishedBatches() == 2);

    apply(remove(A, 1, 2, 3));

    assertThat(publishedBefore[0]).isTrue();
    assertThat(pool.faults().poll().action()).isEqualTo(PoolFault.Action.FENCE_PRODUCER);
    assertThat(pool.fenceReason()).contains("IndexerInvariantViolation");
    assertThat(pool.terminated().toCompletableFuture()).isDone();
  }

  private void fillFaults() {
    for (int i = 0; i <= PoolFaults.CAPACITY; i++) {
      apply(store(A, 1).parent(12345));
    }
  }

  @Test
  void aFullFaultChannelStopsThePoolUntilSomebodyTakesAFault() {
    fillFaults();
    apply(store(B, 1));
    assertThat(pool.state().mappingCount(B)).isZero();

    assertThat(pool.faults().poll()).isNotNull();
    virtual.runUntilIdle();

    assertThat(pool.state().mappingCount(B)).isEqualTo(1);
    for (int i = 0; i < PoolFaults.CAPACITY; i++) {
      assertThat(pool.faults().poll()).isNotNull();
    }
    assertThat(pool.faults().poll()).isNull();
  }

  @Test
  void aFenceInterruptsAPoolThatWaitsForItsFaults() {
    fillFaults();
    CompletionStage<Long> flushed = pool.flush();
    pool.fence("stop");
    virtual.runUntilIdle();

    assertThat(pool.terminated().toCompletableFuture()).isDone();
    assertThat(failure(flushed).getMessage()).contains("stop");
  }

  // The end

  @Test
  void aShutdownFinishesWhatWasAdmittedPublishesTheTailAndRefusesTheRest() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    pool.admit(store(A, 1).build(), PUBLISHER);

    CompletionStage<Void> ended = pool.shutdown();
    CompletionStage<Void> refused = pool.admit(store(A, 2).build(), PUBLISHER);

    assertThat(failure(refused).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    join(ended);
    assertDelta(snapshot.deltas().poll(), 0, LEASE_1);
    assertThat(snapshot.deltas().isClosed()).isTrue();
    assertThat(pool.state().mappingCount(A)).isEqualTo(1);
    join(pool.terminated());
    join(pool.retireLease(LEASE_1));
  }

  @Test
  void aShutdownRefusesWhoStillWaitsForAdmission() {
    for (int i = 0; i < AdmissionGate.COMMANDS; i++) {
      pool.admit(store(A, i).build(), PUBLISHER);
    }
    CompletionStage<Long> flush = pool.flush();
    CompletionStage<Void> ended = pool.shutdown();

    assertThat(failure(flush).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    join(ended);
    assertThat(pool.state().mappingCount(A)).isEqualTo(AdmissionGate.COMMANDS);
  }

  @Test
  void aFencePublishesNoTailAndKeepsTheFirstReason() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    pool.fence("first");
    pool.fence("second");
    virtual.runUntilIdle();
    virtual.advance(Duration.ofMillis(5));

    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(snapshot.deltas().isClosed()).isTrue();
    assertThat(pool.fenceReason()).isEqualTo("first");
    assertThat(failure(pool.flush()).getMessage()).contains("first");
    assertThat(failure(pool.subscribe(LEASE_2)).getMessage()).contains("first");
  }

  @Test
  void aFenceComesBeforeWhatIsInTheMailbox() {
    pool.admit(store(A, 1).build(), PUBLISHER);
    pool.fence("now");
    virtual.runUntilIdle();

    assertThat(pool.state().mappingCount(A)).isZero();
  }

  @Test
  void aStalledLeaseIsRetired() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    join(pool.retireStalledLease(LEASE_1));
    apply(store(A, 1));
    join(pool.flush());

    assertThat(snapshot.deltas().isClosed()).isTrue();
    assertThat(pool.statistics().refusedBatches()).isEqualTo(1);
    assertThat(subscribe(LEASE_2).words()).isEqualTo(pool.state().copyWords());
  }

  @Test
  void anIdentityOfAnotherFormatIsRefused() {
    PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(1000).build();
    assertThatThrownBy(
            () ->
                new PoolActor(
                    config, PoolFixtures.identity(new io.kvrelay.api.CkfFormat(1, 2)), virtual))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("identity.format");
  }

  @Test
  void theConfigurationNamesWhatItRefuses() {
    assertThat(PoolConfig.builder().build().toBuilder().build().format())
        .isEqualTo(PoolConfig.builder().build().format());
    List.<Runnable>of(
            () -> PoolConfig.builder().publicationThreshold(0).build(),
            () -> PoolConfig.builder().publicationDelay(Duration.ZERO).build(),
            () -> PoolConfig.builder().expectedUniqueBlocks(0).build(),
            () -> PoolConfig.builder().maxKicks(5000).build())
        .forEach(
            build ->
                assertThatThrownBy(build::run)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(" = "));
  }

  @Test
  void membersAreTheNamesOfRanks() {
    apply(store(new Member(-1, -1), 1));
    assertThat(pool.state().members().get(0)).hasToString("18446744073709551615/4294967295");
  }
}
