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
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import io.kvrelay.engine.testing.Settled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Hand-offs, memory, callbacks and endings that fail, and what of it reaches whom. */
class PoolActorFailureTest {
  private static final long PUBLISHER = 99;

  private final VirtualRuntime virtual = VirtualRuntime.inOrder(1);
  private final Settled settled = new Settled(virtual);
  private final FaultyMemory memory = new FaultyMemory();
  private PoolActor pool = pool(1000);

  private PoolActor pool(long expected) {
    PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(expected).build();
    return new PoolActor(config, PoolFixtures.identity(config.format()), virtual, memory, 0);
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

  @Test
  void whatWasAdmittedBeforeAShutdownIsAppliedHoweverTheTurnsFall() throws Exception {
    PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(1).build();
    AtomicReference<PoolActor> current = new AtomicReference<>();
    AtomicBoolean over = new AtomicBoolean();
    try (SystemRuntime runtime = SystemRuntime.create(1)) {
      Thread waker = // keeps the pool's turns coming and going
          new Thread(
              () -> {
                while (!over.get()) {
                  PoolActor pool = current.get();
                  if (pool != null) {
                    pool.flush();
                  }
                }
              });
      waker.start();
      try {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
        for (int round = 0; System.nanoTime() < end; round++) {
          PoolActor racing = new PoolActor(config, PoolFixtures.identity(config.format()), runtime);
          current.set(racing);
          racing.flush().toCompletableFuture().get(20, TimeUnit.SECONDS);
          CompletionStage<Void> admitted = racing.admit(store(A, 1).build(), PUBLISHER);
          boolean isIn = admitted.toCompletableFuture().isDone();
          racing.shutdown();
          racing.terminated().toCompletableFuture().get(20, TimeUnit.SECONDS);
          if (isIn) {
            assertThat(racing.state().mappingCount(A)).as("round %d", round).isEqualTo(1);
            assertThat(racing.statistics().droppedEvents()).isZero();
          }
        }
      } finally {
        over.set(true);
      }
      waker.join();
    }
  }

  @Test
  void aFlushAfterALostHandOffFailsUntilANewLeaseHasItsSnapshot() {
    PoolSnapshot first = subscribe(LEASE_1);
    first.deltas().close();
    apply(store(A, 1));
    assertThat(failure(pool.flush()).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    apply(store(A, 2));
    assertThat(failure(pool.flush()).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);

    PoolSnapshot second = subscribe(LEASE_2);

    assertThat(second.words()).isEqualTo(pool.state().copyWords());
    assertThat(join(pool.flush())).isEqualTo(second.sequence());
  }

  @Test
  void aFlushWithoutASubscriberSucceeds() {
    apply(store(A, 1));
    assertThat(join(pool.flush())).isZero();
    join(pool.retireLease(subscribe(LEASE_1).lease()));
    apply(store(A, 2));
    assertThat(join(pool.flush())).isZero();
  }

  @Test
  void aFilterCopyThatCannotBeAllocatedFailsAloneAndThePoolGoesOn() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    memory.untilFailure = 0;
    assertThat(failure(pool.filterWords()).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(pool.fenceReason()).isNull();
    apply(store(A, 1));
    assertThat(join(pool.flush())).isEqualTo(1);
    assertThat(snapshot.deltas().poll()).isNotNull();
  }

  @Test
  void whatWasDoneSucceedsThoughItsImagesMustWaitForMemory() {
    List<Function<PoolActor, CompletionStage<Void>>> barriers =
        List.of(
            actor -> actor.resetRank(A),
            actor -> actor.removeWorker(A.workerId()),
            actor -> actor.replaceRanks(Map.of(A, new RankReplacement(A))));
    for (Function<PoolActor, CompletionStage<Void>> barrier : barriers) {
      int allocation = 0;
      while (!isDeferredAt(allocation, barrier)) {
        assertThat(++allocation).as("an allocation is the images'").isLessThan(100);
      }
    }
  }

  /** Whether the allocation of that number is one of the images, which then wait for the timer. */
  private boolean isDeferredAt(int allocation, Function<PoolActor, CompletionStage<Void>> barrier) {
    pool = pool(1000);
    apply(store(A, 1));
    apply(store(A, 2));
    PoolSnapshot snapshot = subscribe(LEASE_1);
    memory.untilFailure = allocation;
    CompletionStage<Void> done = barrier.apply(pool);
    virtual.runUntilIdle();
    memory.heal();
    if (pool.statistics().pool().deferredDrains() == 0) {
      return false;
    }
    join(done);
    assertThat(pool.state().mappingCount(A)).isZero();
    assertThat(snapshot.deltas().poll()).isNull();

    virtual.advance(Duration.ofMillis(2));

    Mirror mirror = new Mirror(snapshot.words());
    PoolDelta delta = snapshot.deltas().poll();
    mirror.apply(new BucketImages(delta.buckets(), delta.words()));
    assertThat(mirror.words).isEqualTo(pool.state().copyWords()).containsOnly(0);
    return true;
  }

  @Test
  void imagesThatTheTimerCannotAllocateAreTriedAgainAfterAnotherDelay() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    memory.untilFailure = 0;
    virtual.advance(Duration.ofMillis(1));
    assertThat(pool.statistics().pool().deferredDrains()).isEqualTo(1);
    assertThat(snapshot.deltas().poll()).isNull();

    virtual.advance(Duration.ofMillis(1));

    PoolDelta delta = snapshot.deltas().poll();
    assertThat(delta.sequence()).isEqualTo(1);
    Mirror mirror = new Mirror(snapshot.words());
    mirror.apply(new BucketImages(delta.buckets(), delta.words()));
    assertThat(mirror.words).isEqualTo(pool.state().copyWords());
  }

  @Test
  void aTailThatCannotBeAllocatedAtTheShutdownIsCountedAndWarnedOf() {
    PoolSnapshot snapshot = subscribe(LEASE_1);
    apply(store(A, 1));
    memory.untilFailure = 0;
    try (RecordedLog log = RecordedLog.of(PoolActor.class)) {
      join(pool.shutdown());
      assertThat(log.messages(Level.WARNING))
          .singleElement()
          .asString()
          .contains("no memory for its last publication");
    }
    assertThat(pool.statistics().pool().deferredDrains()).isEqualTo(1);
    assertThat(pool.statistics().publishedBatches()).isZero();
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(snapshot.deltas().isClosed()).isTrue();
  }

  @Test
  void aResetThatFindsTheStateContradictoryFencesThePool() {
    apply(store(A, 1));
    pool.state()
        .exact()
        .filter
        .remove(pool.state().exact().addressing.mix(1), (bucket, before) -> {});
    assertThat(failure(pool.resetRank(A)).reason()).isEqualTo(RelayErrorReason.INTERNAL);
    join(pool.terminated());
    assertThat(pool.fenceReason()).contains("reset of rank");
  }

  @Test
  void ranksThatWentBeforeOneThatFailedArePublishedByTheTimer() {
    pool = pool(100_000);
    apply(store(A, 1));
    apply(store(A1, 2));
    PoolSnapshot snapshot = subscribe(LEASE_1);
    for (int i = 0; i < 300; i++) {
      apply(store(A1, range(100L * i, 100 * i + 9)));
      join(pool.flush());
    }
    while (snapshot.deltas().poll() != null) {
      // what was stored
    }
    memory.lasting = true;
    memory.untilFailure = 0;
    RelayException failure = failure(pool.removeWorker(A.workerId()));
    memory.heal();
    assertThat(failure.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    boolean half = pool.state().mappingCount(A) == 0;
    virtual.advance(Duration.ofMillis(2));
    assertThat(pool.statistics().pool().dirtyBuckets()).isZero();
    assertThat(half).isEqualTo(!pool.state().members().contains(A));
  }

  @Test
  void aThrowingReceiverNeitherFencesThePoolNorKeepsItFromEnding() {
    try (RecordedLog log = RecordedLog.of(DeltaChannel.class)) {
      PoolSnapshot snapshot = subscribe(LEASE_1);
      snapshot
          .deltas()
          .onSignal(
              () -> {
                throw new IllegalStateException("on purpose");
              });
      apply(store(A, 1));
      assertThat(join(pool.flush())).isEqualTo(1);
      assertThat(pool.fenceReason()).isNull();
      join(pool.shutdown());
      assertThat(log.thrown()).hasSize(2).allMatch(IllegalStateException.class::isInstance);
    }
  }

  @Test
  void aThrowingFaultHandlerLosesNoFaultAndDoesNotFenceThePool() {
    try (RecordedLog log = RecordedLog.of(PoolFaults.class)) {
      pool.faults()
          .onSignal(
              () -> {
                throw new IllegalStateException("on purpose");
              });
      apply(store(A, 1).parent(77));
      assertThat(pool.faults().poll()).isNotNull();
      assertThat(pool.fenceReason()).isNull();
      apply(store(A, 2));
      assertThat(pool.state().mappingCount(A)).isEqualTo(1);
      assertThat(log.thrown()).hasSize(1);
    }
  }

  @Test
  void anEndedPoolLeavesNoTimerBehind() {
    subscribe(LEASE_1);
    apply(store(A, 1));
    assertThat(virtual.pendingTimers()).isEqualTo(1);
    join(pool.shutdown());
    assertThat(virtual.pendingTimers()).isZero();
  }

  @Test
  void eventsThatAFenceDropsAreCounted() {
    pool.admit(store(A, 1).build(), PUBLISHER);
    pool.admit(store(A, 2).build(), PUBLISHER);
    pool.flush();
    pool.fence("now");
    join(pool.terminated());
    assertThat(pool.statistics().droppedEvents()).isEqualTo(2);
    assertThat(pool.statistics().appliedEvents()).isZero();
  }

  @Test
  void aMailboxThatFailsTakesNoPermits() {
    List<PoolCommand> mailbox = new ArrayList<>();
    boolean[] fails = {true};
    AdmissionGate gate =
        new AdmissionGate(
            command -> {
              if (fails[0]) {
                throw new OutOfMemoryError("on purpose");
              }
              mailbox.add(command);
            },
            Runnable::run,
            () -> new IllegalStateException("closed"));
    PoolCommand command = new PoolCommand.Event(store(A, range(1, 9)).build(), PUBLISHER);
    assertThatThrownBy(() -> gate.admit(command)).isInstanceOf(OutOfMemoryError.class);
    assertThat(gate.usedCommands()).isZero();
    assertThat(gate.usedPermits()).isZero();
    fails[0] = false;
    assertThat(gate.admit(command).toCompletableFuture()).isCompleted();
    assertThat(mailbox).containsExactly(command);
  }

  @Test
  void theFirstOmissionWarnsHoweverManyBlocksItHas() {
    pool = pool(1);
    try (RecordedLog log = RecordedLog.of(PoolActor.class).all()) {
      apply(store(A, range(1, 100)));
      long omissions = pool.statistics().pool().capacityFailures();
      assertThat(omissions).isGreaterThan(2);
      assertThat(log.messages(Level.WARNING))
          .singleElement()
          .asString()
          .contains("capacity omissions, " + omissions + " so far");
      apply(store(B, range(1000, 1100)));
      assertThat(log.messages(Level.FINE)).anyMatch(text -> text.contains("capacity omissions, "));
      assertThat(log.messages(Level.WARNING)).hasSize(1);
    }
  }

  @Test
  void theFirstRemovalsOfWhatIsNotThereWarn() {
    try (RecordedLog log = RecordedLog.of(PoolActor.class).all()) {
      apply(remove(A, 1, 2, 3));
      assertThat(log.messages(Level.WARNING))
          .singleElement()
          .asString()
          .contains("unknown engine hashes, 3 so far");
      apply(remove(A, 4, 5));
      assertThat(log.messages(Level.FINE)).hasSize(1);
      apply(remove(A, 6));
      assertThat(log.messages(Level.FINE)).hasSize(1);
    }
  }
}
