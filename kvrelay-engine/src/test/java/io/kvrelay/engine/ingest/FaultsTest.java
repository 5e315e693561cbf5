package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.liveOnly;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static io.kvrelay.engine.pool.PoolFault.Action.FENCE_PRODUCER;
import static io.kvrelay.engine.pool.PoolFault.Action.RECOVER_RANK;
import static io.kvrelay.engine.pool.PoolFault.Action.REJECT_SOURCE;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.pool.PoolFault;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Faults that the pool reports, and breaks that a provider reports. */
class FaultsTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  @Test
  void aResourceFaultOfARecoverableSourceIsAFullRecoveryWithoutAReset() {
    rig.bringLive(A, P, 3);
    assertThat(rig.handle(rig.fault(A, P, RECOVER_RANK))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.port.resets(A)).isZero();
    assertThat(rig.blocks(A)).hasSize(3);
    assertThat(rig.status(A).recovering()).isTrue();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    rig.live(P, A, 4);
    rig.jitter();
    rig.events.last(A).answer(dumpOf(A, 3, 1, 2, 3));
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L, 4L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aResourceFaultCancelsARecoveryUnderWay() {
    rig.bringLive(A, P, 3);
    rig.live(P, A, 6);
    var gap = rig.events.last(A);
    rig.handle(rig.fault(A, P, RECOVER_RANK));
    assertThat(gap.reply()).isCancelled();
    rig.jitter();
    assertThat(rig.events.starts(A)).containsExactly(-1L, 4L, -1L);
    assertThat(rig.status(A).buffered()).isEqualTo(1);
  }

  @Test
  void aResourceFaultOfALiveOnlySourceStartsItOver() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 5);
    assertThat(rig.handle(rig.fault(A, P, RECOVER_RANK))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).isEmpty();
    rig.live(P, A, 2);
    assertThat(rig.cursor(A)).hasValue(2);
    assertThat(rig.blocks(A)).containsExactly(2L);
  }

  @Test
  void aResourceFaultOfALiveOnlySourceWhoseResetFailsFencesRankAndPool() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 5);
    rig.port.failResets = 1;
    assertThat(rig.handle(rig.fault(A, P, RECOVER_RANK))).isEqualTo(FaultOutcome.FENCE_POOL);
    assertThat(rig.status(A).resetPending()).isTrue();
  }

  @Test
  void aResourceFaultWithAResetPendingFencesThePool() {
    rig.bringLive(A, P, 1);
    rig.port.failAdmissionOf = 2;
    rig.live(P, A, 2);
    assertThat(rig.handle(rig.fault(A, P, RECOVER_RANK))).isEqualTo(FaultOutcome.FENCE_POOL);
  }

  @Test
  void aFaultOfAReplacedPublisherIsStale() {
    rig.bringLive(A, P, 1);
    rig.with(liveOnly(A, Q));
    rig.reconcile();
    rig.live(Q, A, 7);
    assertThat(rig.handle(rig.fault(A, P, REJECT_SOURCE))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.handle(rig.fault(A, P, RECOVER_RANK))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.handle(rig.fault(B, P, RECOVER_RANK))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.count(IngestCount.STALE_FAULTS)).isEqualTo(3);
    assertThat(rig.port.resets(A)).as("that of the change").isEqualTo(1);
    rig.live(Q, A, 8);
    assertThat(rig.blocks(A)).containsExactly(7L, 8L);
  }

  @Test
  void aRejectedSourceStaysOutUntilAnotherTakesItsPlace() {
    rig.bringLive(A, P, 2);
    assertThat(rig.handle(rig.fault(A, P, REJECT_SOURCE))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).rejected()).isTrue();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    for (int i = 0; i < 3; i++) {
      rig.reconcile();
      rig.advance(10_000);
    }
    assertThat(rig.status(A).publisherId()).isEmpty();
    assertThat(rig.events.asked).hasSize(1);
    rig.live(P, A, 3);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);

    rig.with(recoverable(A, Q));
    rig.reconcile();
    rig.jitter();
    assertThat(rig.status(A).rejected()).isFalse();
    assertThat(rig.events.asked).hasSize(2);
  }

  @Test
  void aRejectedSourceWhoseResetFailsIsResetLaterAndStaysOut() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 1;
    rig.handle(rig.fault(A, P, REJECT_SOURCE));
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.blocks(A)).hasSize(2);
    rig.advance(100);
    assertThat(rig.status(A).resetPending()).isFalse();
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).publisherId()).isEmpty();
  }

  private PoolFault refused(long eventId) {
    return new PoolFault(P, A, eventId, KvEventErrorKind.PARENT_BLOCK_NOT_FOUND, REJECT_SOURCE);
  }

  /** users' ask B3. */
  @Test
  void aMissingParentBehindAKnownHoleCostsARecoveryAndNotTheSource() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4, 5);
    rig.events.last(A).answer(new HistoryReply.InvalidRange(2, 1));
    rig.settle();
    assertThat(rig.status(A).reason()).isEqualTo("lost events 2..3");
    assertThat(rig.handle(refused(5))).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.status(A).rejected()).isFalse();
    assertThat(rig.status(A).recovering()).isTrue();
    rig.jitter();
    rig.events.last(A).answer(dumpOf(A, 5, 4, 5));
    rig.advance(20);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.handle(refused(5)))
        .as("refused before, whole since")
        .isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.blocks(A)).containsExactly(4L, 5L);
    assertThat(rig.count(IngestCount.EXPLAINED_FAULTS)).isEqualTo(2);
    rig.handle(refused(6));
    assertThat(rig.status(A).rejected()).as("not admitted since the last reset").isFalse();
    rig.live(P, A, 6);
    rig.handle(refused(6));
    assertThat(rig.status(A).rejected()).as("nothing explains this one").isTrue();
  }

  @Test
  void aHoleThatCannotBeMendedIsNotAskedForAllTheTime() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4);
    rig.events.last(A).answer(new HistoryReply.InvalidRange(2, 1));
    rig.settle();
    for (int i = 0; i < 3; i++) {
      rig.handle(refused(4));
      rig.jitter();
      if (rig.status(A).recovering()) {
        rig.events.last(A).answer(new HistoryReply.InvalidRange(0, 0));
        rig.settle();
      }
    }
    assertThat(rig.events.starts(A)).containsExactly(-1L, 2L, -1L);
    rig.advance(60_000);
    rig.handle(refused(4));
    rig.jitter();
    assertThat(rig.events.starts(A)).containsExactly(-1L, 2L, -1L, -1L);
  }

  /** users' ask B3, B14: who joins late misses parents, and indexes what it can. */
  @Test
  void aLiveOnlySourceJoinedLateIsNotRejectedForParentsNobodySaw() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, KvEvent.stored(A, 9, new long[] {9}, new long[] {9}).parent(8).build());
    rig.live(P, A, 10);
    PoolFault fault = rig.pool.faults().poll();
    assertThat(fault).isNotNull();
    assertThat(rig.handle(fault)).isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.blocks(A)).containsExactly(10L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aProducerFenceIsThePools() {
    rig.bringLive(A, P, 2);
    assertThat(rig.handle(rig.fault(A, P, FENCE_PRODUCER))).isEqualTo(FaultOutcome.FENCE_POOL);
    assertThat(rig.count(IngestCount.POOL_FENCES)).isEqualTo(1);
  }

  @Test
  void aBrokenStreamResetsItsRankAndStartsTheSameSourceFromTheBeginning() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);
    rig.port.holdAdmissionsOf = A;
    rig.live(P, A, 3, 4);
    rig.events.listener.onDiscontinuity(P, "reconnected");
    rig.live(P, A, 5);
    rig.port.release();
    rig.settle();
    assertThat(rig.port.admitted(A))
        .as("what came before it is applied first")
        .containsExactly(3L, 4L);
    assertThat(rig.port.log.subList(rig.port.log.size() - 1, rig.port.log.size()))
        .containsExactly("reset 1/0");
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(B)).hasSize(2);
    assertThat(rig.status(A).buffered())
        .as("what came after it belongs to the new life")
        .isEqualTo(1);
    rig.jitter();
    rig.events.last(A).answer(dumpOf(A, 4, 4));
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(4L, 5L);
    assertThat(rig.count(IngestCount.DISCONTINUITIES)).isEqualTo(1);
  }

  /** users' ask B4: a restart in place, told by its provider, without anything to ask. */
  @Test
  void afterARestartInPlaceTheOldBlocksGoBeforeTheFirstNewEvent() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 7, 8);
    rig.events.listener.onDiscontinuity(P, "the sequence began anew");
    rig.live(P, A, 1, 2);
    assertThat(rig.port.log)
        .containsExactly("admit 1/0 7", "admit 1/0 8", "reset 1/0", "admit 1/0 1", "admit 1/0 2");
    assertThat(rig.blocks(A)).containsExactly(1L, 2L);
  }

  @Test
  void aBreakOfAPublisherThatIsNotActiveChangesNothing() {
    rig.bringLive(A, P, 2);
    rig.events.listener.onDiscontinuity(Q, "whoever that is");
    rig.settle();
    assertThat(rig.port.resets(A)).isZero();
    assertThat(rig.count(IngestCount.STALE_DISCONTINUITIES)).isEqualTo(1);
  }

  @Test
  void aBreakWhoseResetFailsLeavesTheRankFencedUntilTheTimerTriesAgain() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 1;
    rig.events.listener.onDiscontinuity(P, "reconnected");
    rig.settle();
    assertThat(rig.status(A).resetPending()).isTrue();
    rig.advance(100);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).recovering()).isTrue();
  }

  @Test
  void aDefectInsideARankFencesThePool() {
    rig.bringLive(A, P, 2);
    rig.port.throwOnAdmission = true;
    rig.live(P, A, 3);
    assertThat(rig.fences).isNotEmpty();
    assertThat(rig.fences.get(0)).contains("rank 1/0");
    assertThat(rig.status(A).resetPending()).isTrue();
    rig.port.throwOnAdmission = false;
  }
}
