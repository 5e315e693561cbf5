package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.A1;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.clear;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.liveOnly;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.pool.PoolFault;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clears in the stream, and clears by hand. */
class ClearsTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  @Test
  void aWorkersClearWaitsForARecoveryAndAClearOfAllEndsIt() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4);
    rig.live(P, clear(A, 5, ResidencyDomain.WORKER));
    assertThat(rig.status(A).recovering()).isTrue();
    assertThat(rig.status(A).buffered()).isEqualTo(2);

    rig.live(P, clear(A, 6, ResidencyDomain.MISSING));
    assertThat(rig.events.last(A).reply()).isCancelled();
    assertThat(rig.status(A).recovering()).isFalse();
    assertThat(rig.status(A).buffered()).isZero();
    assertThat(rig.port.admitted(A)).containsExactly(6L);
    assertThat(rig.cursor(A)).hasValue(6);
    assertThat(rig.blocks(A)).isEmpty();
    rig.live(P, A, 7);
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.blocks(A)).containsExactly(7L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aStaleClearOfAllIsIgnored() {
    rig.bringLive(A, P, 3);
    rig.live(P, clear(A, 3, ResidencyDomain.MISSING));
    assertThat(rig.blocks(A)).hasSize(3);
    assertThat(rig.count(IngestCount.STALE_CLEARS)).isEqualTo(1);
  }

  @Test
  void aClearTouchesNeitherSiblingsNorSharedBlocks() {
    rig.with(liveOnly(A, P)).with(liveOnly(A1, Q)).with(liveOnly(B, 13)).start();
    rig.live(P, A, 1);
    rig.live(Q, A1, 1);
    rig.live(13, B, 1);
    rig.live(P, clear(A, 2, ResidencyDomain.MISSING));
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(A1)).containsExactly(1L);
    assertThat(rig.blocks(B)).containsExactly(1L);
    assertThat(rig.state().ownerCount(1)).isEqualTo(2);
  }

  @Test
  void anExplicitNullDomainIsNoClearOfAllAndCostsTheSource() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4); // a recovery is under way
    rig.live(P, clear(A, 5, ResidencyDomain.INVALID));
    assertThat(rig.status(A).buffered()).as("an ordinary event").isEqualTo(2);
    rig.events.last(A).answer(IngestRig.history(A, 3, 2, 3));
    rig.settle();
    PoolFault fault = rig.pool.faults().poll();
    assertThat(fault).isNotNull();
    assertThat(fault.action()).isEqualTo(PoolFault.Action.REJECT_SOURCE);
    assertThat(rig.handle(fault)).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).rejected()).isTrue();
    assertThat(rig.status(A).reason()).contains("UnsupportedResidencyDomain at event 5");
  }

  @Test
  void ofABatchOnlyTheEventsWithAnUnusableDomainAreUnusable() {
    rig.bringLive(A, P, 1);
    rig.live(
        P,
        store(A, 2),
        KvEvent.stored(A, 3, new long[] {3}, new long[] {3})
            .domain(ResidencyDomain.UNKNOWN)
            .build(),
        KvEvent.stored(A, 4, new long[] {4}, new long[] {4})
            .domain(ResidencyDomain.INVALID)
            .build(),
        store(A, 5));
    assertThat(rig.cursor(A)).hasValue(5);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 5L);
  }

  @Test
  void aClearWhoseAdmissionFailsFencesTheRank() {
    rig.bringLive(A, P, 1);
    rig.port.failAdmissionOf = 2;
    rig.live(P, clear(A, 2, ResidencyDomain.MISSING));
    assertThat(rig.cursor(A)).hasValue(1);
    assertThat(rig.status(A).resetPending()).isTrue();
  }

  @Test
  void aClearOnAnotherTierIsForThePrimaryIndex() {
    rig.bringLive(A, P, 3);
    rig.live(P, KvEvent.cleared(A, 4).tier(StorageTier.HOST_PINNED).build());
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).hasValue(4);
    assertThat(rig.status(A).clears()).isEqualTo(1);
  }

  @Test
  void aClearOfAllBeforeTheFullRecoveryMakesItUnnecessary() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.live(P, clear(A, 8, ResidencyDomain.MISSING));
    rig.live(P, A, 9);
    assertThat(rig.events.asked).hasSize(1);
    assertThat(rig.events.asked.get(0).reply()).isCancelled();
    assertThat(rig.blocks(A)).containsExactly(9L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aClearJoinsARebuildUnderWayAndWinsOverIt() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 5);
    rig.port.holdRebuilds = true;
    rig.events.last(A).answer(dumpOf(A, 5, 2, 3, 4, 5));
    rig.advance(10);
    rig.live(P, clear(A, 6, ResidencyDomain.MISSING));
    assertThat(rig.port.admitted(A)).as("not before the rebuild is over").isEmpty();
    rig.port.release();
    rig.settle();
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).hasValue(6);
    assertThat(rig.count(IngestCount.IGNORED_RESULTS)).isEqualTo(1);
  }

  /** users' ask B3, J9: after a clear nothing is unknown any more. */
  @Test
  void aClearMakesALiveOnlySourceExact() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 4);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    rig.live(P, clear(A, 5, ResidencyDomain.WORKER));
    rig.live(P, A, 6);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  /** users' ask C2. */
  @Test
  void anOperatorClearsOneSourceAndItComesBackFromTheBeginning() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);
    CompletableFuture<Void> done = rig.ingest.clearRank(A).toCompletableFuture();
    rig.settle();
    assertThat(done).isCompleted();
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(B)).hasSize(2);
    rig.jitter();
    rig.events.last(A).answer(dumpOf(A, 2, 2));
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(2L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.count(IngestCount.OPERATOR_CLEARS)).isEqualTo(1);
  }

  @Test
  void aClearByHandThatFailsSaysSoAndFencesTheRank() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 1;
    CompletableFuture<Void> done = rig.ingest.clearRank(A).toCompletableFuture();
    rig.settle();
    assertThat(done).isCompletedExceptionally();
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.ingest.clearRank(B).toCompletableFuture()).isCompletedExceptionally();

    CompletableFuture<Void> again = rig.ingest.clearRank(A).toCompletableFuture();
    rig.settle();
    assertThat(again).isCompleted();
    assertThat(rig.status(A).resetPending()).isFalse();
    assertThat(rig.status(A).recovering()).isTrue();
  }

  /** However the steps of the slot and of the control mailbox fall. */
  @Test
  void aRankThatComesAndGoesWhileItsSlotEndsIsNeverLeftBehind() {
    for (int first = 0; first < 14; first++) {
      for (int second = 0; second < 14; second++) {
        try (IngestRig each = new IngestRig()) {
          goAway(each, first);
          each.with(IngestRig.recoverable(A, P));
          each.ingest.reconcile(each.view());
          steps(each, second);
          each.ranks.remove(A);
          each.reconcile();
          each.advance(100);
          assertThat(each.ingest.ranks()).as("%d, %d", first, second).isEmpty();
          assertThat(each.blocks(A)).isEmpty();

          each.bringLive(A, P, 3); // nobody else is bound to the publisher
          assertThat(each.blocks(A)).hasSize(3);
          assertThat(each.count(IngestCount.BINDING_CONFLICTS)).isZero();
        }
      }
    }
  }

  @Test
  void aClearOfARankThatIsGoingNeverMeetsWhatItsNextSlotHasStored() {
    for (int first = 0; first < 14; first++) {
      for (int second = 0; second < 14; second++) {
        try (IngestRig each = new IngestRig()) {
          goAway(each, first);
          CompletableFuture<Void> cleared = each.ingest.clearRank(A).toCompletableFuture();
          steps(each, second);
          each.bringLive(A, P, 3);
          assertThat(cleared).as("%d, %d", first, second).isDone();
          each.live(P, A, 4);
          assertThat(each.blocks(A)).as("%d, %d", first, second).hasSize(4);
        }
      }
    }
  }

  /** A rank that was live is no longer expected, and so many steps of that have run. */
  private static void goAway(IngestRig each, int steps) {
    each.bringLive(A, P, 2);
    each.ranks.remove(A);
    each.ingest.reconcile(each.view());
    steps(each, steps);
  }

  private static void steps(IngestRig each, int steps) {
    for (int i = 0; i < steps; i++) {
      each.runtime.runOne();
    }
  }

  /** users' ask C6. */
  @Test
  void repeatedClearsOfAnEmptyRankAreCountedAndPublishNothing() {
    rig.bringLive(A, P, 1);
    rig.live(P, clear(A, 2, ResidencyDomain.WORKER));
    rig.pool.flush();
    rig.settle();
    long touched = rig.pool.statistics().pool().distinctTouchedBuckets();
    for (long id = 3; id < 50; id++) {
      rig.live(P, clear(A, id, ResidencyDomain.MISSING));
    }
    assertThat(rig.status(A).clears()).isEqualTo(48);
    assertThat(rig.pool.statistics().pool().distinctTouchedBuckets()).isEqualTo(touched);
  }
}
