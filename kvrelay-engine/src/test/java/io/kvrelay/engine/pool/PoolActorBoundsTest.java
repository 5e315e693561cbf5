package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_1;
import static io.kvrelay.engine.pool.PoolFixtures.clear;
import static io.kvrelay.engine.pool.PoolFixtures.range;
import static io.kvrelay.engine.pool.PoolFixtures.remove;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.ForwardingRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Permits, cadence under load, and a receiver that has gone at every point of publication. */
class PoolActorBoundsTest {
  private static final PoolConfig CONFIG = PoolConfig.builder().expectedUniqueBlocks(1000).build();

  private final VirtualRuntime virtual = VirtualRuntime.inOrder(1);
  private PoolActor pool = new PoolActor(CONFIG, PoolFixtures.identity(CONFIG.format()), virtual);

  private void apply(KvEvent.Builder event) {
    pool.admit(event.build(), 9);
    virtual.runUntilIdle();
  }

  private <T> CompletableFuture<T> settled(CompletionStage<T> stage) {
    virtual.runUntilIdle();
    assertThat(stage.toCompletableFuture()).isDone();
    return stage.toCompletableFuture();
  }

  private PoolSnapshot subscribe() {
    return settled(pool.subscribe(LEASE_1)).join();
  }

  private static RankReplacement replacement(long... locals) {
    RankReplacement replacement = new RankReplacement(A);
    replacement.push(store(A, locals).build());
    return replacement;
  }

  // A receiver that has gone

  private void assertNextFlushFails() {
    assertThat(pool.statistics().undeliveredBatches()).isEqualTo(1);
    assertThat(pool.statistics().lastSequence()).isZero();
    assertThat(settled(pool.flush()))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE));
  }

  @Test
  void aHandOffThatFailsAtACountBoundaryFailsTheNextFlush() {
    subscribe().deltas().close();
    for (int i = 0; i < 16; i++) {
      apply(store(A, i));
    }
    assertNextFlushFails();
  }

  @Test
  void aHandOffThatFailsAtTheTimerFailsTheNextFlush() {
    subscribe().deltas().close();
    apply(store(A, 1));
    virtual.advance(Duration.ofMillis(1));
    assertNextFlushFails();
  }

  @Test
  void aHandOffThatFailsAtAReplacementLeavesItDoneAndFailsTheNextFlush() {
    subscribe().deltas().close();
    settled(pool.replaceRanks(Map.of(A, replacement(1, 2)))).join();
    assertThat(pool.state().mappingCount(A)).isEqualTo(2);
    assertNextFlushFails();
  }

  @Test
  void aHandOffThatFailsAtTheShutdownIsCountedAndThePoolEnds() {
    subscribe().deltas().close();
    apply(store(A, 1));
    settled(pool.shutdown()).join();
    assertThat(pool.statistics().undeliveredBatches()).isEqualTo(1);
    assertThat(pool.statistics().lastSequence()).isZero();
  }

  // Cadence

  @Test
  void aStoreAndItsRemovalInOneWindowPublishNothingAndTakeNoNumber() {
    PoolSnapshot snapshot = subscribe();
    apply(store(A, 1));
    apply(remove(A, 1));
    assertThat(settled(pool.flush()).join()).isZero();
    apply(store(A, 2));
    apply(remove(A, 2));
    virtual.advance(Duration.ofMillis(1));
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.statistics().publishedBatches()).isZero();
    assertThat(pool.statistics().pool().pendingEvents()).isZero();
  }

  @Test
  void aBusyMailboxComesBeforeTheTimerThatIsDue() {
    HeldTurns turns = new HeldTurns(virtual);
    PoolSnapshot snapshot = subscribedPool(turns);
    admit(1, 1);
    turns.run();
    admit(2, 11);
    virtual.advance(Duration.ofMillis(1)); // the timer fires, and finds the mailbox full

    turns.run();

    assertThat(snapshot.deltas().poll()).isNotNull();
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.statistics().appliedEvents()).isEqualTo(11);
    assertThat(pool.statistics().pool().pendingEvents()).isZero();
  }

  @Test
  void theCountBoundHoldsWhileABusyMailboxDelaysTheTimer() {
    HeldTurns turns = new HeldTurns(virtual);
    PoolSnapshot snapshot = subscribedPool(turns);
    admit(1, 1);
    turns.run();
    admit(2, 21);
    virtual.advance(Duration.ofMillis(1));

    turns.run();

    assertThat(snapshot.deltas().poll()).isNotNull();
    assertThat(snapshot.deltas().poll()).isNull();
    assertThat(pool.statistics().pool().pendingEvents()).isEqualTo(5);
    virtual.advance(Duration.ofMillis(1)); // the five wait a delay of their own
    turns.run();
    assertThat(snapshot.deltas().poll()).isNotNull();
  }

  private PoolSnapshot subscribedPool(HeldTurns turns) {
    pool = new PoolActor(CONFIG, PoolFixtures.identity(CONFIG.format()), turns);
    CompletableFuture<PoolSnapshot> snapshot = pool.subscribe(LEASE_1).toCompletableFuture();
    turns.run();
    return snapshot.join();
  }

  private void admit(int from, int to) {
    for (int i = from; i <= to; i++) {
      pool.admit(store(A, i).build(), 9);
    }
  }

  /** A virtual runtime whose executor does nothing until it is told to. */
  private static final class HeldTurns extends ForwardingRuntime {
    private final Queue<Runnable> held = new ArrayDeque<>();

    HeldTurns(VirtualRuntime runtime) {
      super(runtime);
    }

    @Override
    public Executor executor() {
      return held::add;
    }

    void run() {
      for (Runnable task = held.poll(); task != null; task = held.poll()) {
        task.run();
      }
    }
  }

  // The end

  @Test
  void anEventThatComesWithTheShutdownBehindTheLastLookIntoTheMailboxIsApplied() {
    Deque<Runnable> behindTheLook = new ArrayDeque<>();
    Queue<PoolCommand> mailbox =
        new ArrayDeque<>() {
          @Override
          public PoolCommand poll() {
            PoolCommand next = super.poll();
            if (next == null && !behindTheLook.isEmpty()) {
              behindTheLook.remove().run();
            }
            return next;
          }
        };
    pool =
        new PoolActor(
            CONFIG, PoolFixtures.identity(CONFIG.format()), virtual, Memory.HEAP, 0, mailbox);
    behindTheLook.add(
        () -> {
          assertThat(pool.admit(store(A, 2).build(), 9).toCompletableFuture()).isCompleted();
          pool.shutdown();
        });

    apply(store(A, 1));

    settled(pool.terminated()).join();
    assertThat(behindTheLook).isEmpty();
    assertThat(pool.state().mappingCount(A)).isEqualTo(2);
    assertThat(pool.statistics().droppedEvents()).isZero();
  }

  // Permits

  @Test
  void aClearCostsOnePermit() {
    pool.admit(clear(A).build(), 9);
    assertThat(pool.statistics().usedPermits()).isEqualTo(1);
    virtual.runUntilIdle();
    assertThat(pool.statistics().usedPermits()).isZero();
  }

  @Test
  void eventsThatTogetherNameMoreBlocksThanThereArePermitsWait() {
    KvEvent half = remove(A, range(1, AdmissionGate.PERMITS / 2)).build();
    assertThat(pool.admit(half, 9).toCompletableFuture()).isCompleted();
    assertThat(pool.admit(half, 9).toCompletableFuture()).isCompleted();
    CompletableFuture<Void> third = pool.admit(store(A, 1).build(), 9).toCompletableFuture();

    assertThat(third).isNotDone();
    assertThat(pool.statistics().usedPermits()).isEqualTo(AdmissionGate.PERMITS);
    assertThat(pool.statistics().waitingCommands()).isEqualTo(1);
    virtual.runUntilIdle();

    assertThat(third).isCompleted();
    assertThat(pool.state().mappingCount(A)).isEqualTo(1);
  }

  @Test
  void whoWaitsForAdmissionIsToldThoughTheExecutorHasNoMemory() {
    AdmissionGate gate =
        new AdmissionGate(
            command -> {},
            task -> {
              throw new OutOfMemoryError("on purpose");
            },
            () -> new IllegalStateException("closed"));
    PoolCommand large =
        new PoolCommand.Event(remove(A, range(1, AdmissionGate.PERMITS)).build(), 9);
    gate.admit(large);
    CompletionStage<Void> first = gate.admit(new PoolCommand.Event(store(A, 1).build(), 9));
    CompletionStage<Void> second = gate.admit(new PoolCommand.Event(store(A, 2).build(), 9));

    gate.release(large);

    assertThat(first.toCompletableFuture()).isCompleted();
    assertThat(second.toCompletableFuture()).isCompleted();
    assertThat(gate.usedCommands()).isEqualTo(2);
  }

  // Counters and the log

  @Test
  void eventsThatWaitAtTheEndAndThoseThatComeTooLateAreCounted() {
    admit(1, AdmissionGate.COMMANDS + 3);
    pool.fence("on purpose");
    virtual.runUntilIdle();
    assertThat(pool.admit(store(A, 1).build(), 9).toCompletableFuture()).isCompletedExceptionally();

    assertThat(pool.statistics().droppedEvents()).isEqualTo(AdmissionGate.COMMANDS + 4);
    assertThat(pool.statistics().appliedEvents()).isZero();
    assertThat(pool.statistics().usedPermits()).isZero();
  }

  @Test
  void theFirstOmissionsOfAReplacementWarn() {
    PoolConfig small = PoolConfig.builder().expectedUniqueBlocks(1).build();
    pool = new PoolActor(small, PoolFixtures.identity(small.format()), virtual);
    try (RecordedLog log = RecordedLog.of(PoolActor.class)) {
      settled(pool.replaceRanks(Map.of(A, replacement(range(1, 100))))).join();
      assertThat(log.messages(Level.WARNING))
          .singleElement()
          .asString()
          .contains("capacity omissions");
    }
  }

  @Test
  void aRemovalOfAWorkerThatFindsTheStateContradictoryFencesThePoolBeforeItFails() {
    apply(store(A, 1));
    pool.state()
        .exact()
        .filter
        .remove(pool.state().exact().addressing.mix(1), (bucket, before) -> {});
    CompletableFuture<Boolean> fencedThen = new CompletableFuture<>();
    pool.removeWorker(A.workerId())
        .whenComplete((done, error) -> fencedThen.complete(pool.fenceReason() != null));
    settled(pool.terminated()).join();
    assertThat(fencedThen).isCompletedWithValue(true);
    assertThat(pool.fenceReason()).contains("removal of worker");
  }
}
