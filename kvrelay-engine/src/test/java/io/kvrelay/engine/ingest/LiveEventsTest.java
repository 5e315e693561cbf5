package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.A1;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.empty;
import static io.kvrelay.engine.ingest.IngestRig.history;
import static io.kvrelay.engine.ingest.IngestRig.liveOnly;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.SourceTrust;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The gate of batches, the order of events, and what a rank does when it cannot go on. */
class LiveEventsTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  @Test
  void batchesOfUnknownPublishersAreDropped() {
    rig.bringLive(A, P, 1);
    rig.live(99, A, 2);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);
    assertThat(rig.cursor(A)).hasValue(1);
  }

  @Test
  void oneForeignEventDropsItsWholeBatch() {
    rig.bringLive(A, P, 1);
    rig.live(P, store(A, 2), store(A1, 3), store(A, 4));
    rig.live(P, store(B, 2));
    assertThat(rig.count(IngestCount.FOREIGN_BATCHES)).isEqualTo(2);
    assertThat(rig.cursor(A)).hasValue(1);
    assertThat(rig.port.admitted(A)).isEmpty();
    rig.live(P, A, 2);
    assertThat(rig.cursor(A)).as("the batch left no trace").hasValue(2);
  }

  @Test
  void anEmptyBatchIsDropped() {
    rig.bringLive(A, P, 1);
    rig.live(P);
    assertThat(rig.count(IngestCount.EMPTY_BATCHES)).isEqualTo(1);
    assertThat(rig.count(IngestCount.ACCEPTED_BATCHES)).isZero();
  }

  @Test
  void whileAResetIsPendingBatchesAreDropped() {
    rig.bringLive(A, P, 1);
    rig.port.failAdmissionOf = 2;
    rig.live(P, A, 2);
    rig.live(P, A, 3);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.count(IngestCount.INACTIVE_BATCHES)).isEqualTo(1);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
  }

  @Test
  void anEmptyRemovalAdvancesTheCursor() {
    rig.bringLive(A, P, 1);
    rig.live(P, empty(A, 2));
    rig.live(P, A, 3);
    assertThat(rig.cursor(A)).hasValue(3);
    assertThat(rig.events.asked).hasSize(1);
    assertThat(rig.blocks(A)).containsExactly(1L, 3L);
  }

  @Test
  void eventsOfOtherTiersAndOwnersAdvanceTheCursorAndChangeNothing() {
    rig.bringLive(A, P, 1);
    rig.live(
        P,
        KvEvent.stored(A, 2, new long[] {2}, new long[] {2}).tier(StorageTier.HOST_PINNED).build());
    rig.live(
        P,
        KvEvent.stored(A, 3, new long[] {3}, new long[] {3})
            .tier(StorageTier.DISK)
            .domain(ResidencyDomain.CACHE_OWNER)
            .build());
    rig.live(P, KvEvent.cleared(A, 4).domain(ResidencyDomain.CACHE_OWNER).build());
    assertThat(rig.cursor(A)).hasValue(4);
    assertThat(rig.blocks(A)).containsExactly(1L);
    assertThat(rig.status(A).clears()).as("a clear of another owner is none of ours").isZero();
  }

  @Test
  void duplicatesAndStaleEventsAreIgnored() {
    rig.bringLive(A, P, 3);
    rig.live(P, A, 3, 2, 4, 4, 0);
    assertThat(rig.port.admitted(A)).containsExactly(4L);
    assertThat(rig.count(IngestCount.STALE_EVENTS)).isEqualTo(4);
    assertThat(rig.cursor(A)).hasValue(4);
  }

  @Test
  void idsAreUnsigned() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, empty(A, Long.MAX_VALUE));
    rig.live(P, empty(A, Long.MIN_VALUE), empty(A, 7));
    assertThat(rig.cursor(A)).hasValue(Long.MIN_VALUE);
    assertThat(rig.count(IngestCount.STALE_EVENTS)).isEqualTo(1);
  }

  @Test
  void anAdmissionThatFailsInMidBatchFencesTheRankAtTheLastAdmittedEvent() {
    rig.bringLive(A, P, 1);
    rig.port.failAdmissionOf = 3;
    rig.live(P, store(A, 2), store(A, 3), store(A, 4), store(A, 5));
    assertThat(rig.cursor(A)).hasValue(2);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.port.admitted(A)).containsExactly(2L);
    assertThat(rig.count(IngestCount.ABANDONED_EVENTS)).isEqualTo(2);
    assertThat(rig.count(IngestCount.FENCES)).isEqualTo(1);

    rig.port.failAdmissionOf = -1;
    rig.advance(103);
    rig.events.last(A).answer(dumpOf(A, 5, 1, 2, 3, 4, 5));
    rig.advance(20);
    assertThat(rig.port.resets(A)).isEqualTo(1);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L, 4L, 5L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aGapOfALiveOnlySourceCostsAReset() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 1, 2, 5, 6);
    assertThat(rig.port.log)
        .containsExactly("admit 1/0 1", "admit 1/0 2", "reset 1/0", "admit 1/0 5", "admit 1/0 6");
    assertThat(rig.blocks(A)).containsExactly(5L, 6L);
    assertThat(rig.cursor(A)).hasValue(6);
    assertThat(rig.count(IngestCount.LIVE_ONLY_GAPS)).isEqualTo(1);
    assertThat(rig.status(A).reason()).contains("events 3..4");
  }

  @Test
  void aGapOfALiveOnlySourceWhoseResetFailsFencesTheRank() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 1);
    rig.port.failResets = 1;
    rig.live(P, store(A, 3), store(A, 4));
    assertThat(rig.port.admitted(A)).containsExactly(1L);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.cursor(A)).hasValue(1);
  }

  @Test
  void aRankThatWaitsForAdmissionDelaysNoOtherAndKeepsItsOrder() {
    rig.bringLive(A, P, 1);
    rig.bringLive(B, Q, 1);
    rig.port.holdAdmissionsOf = A;
    rig.live(P, A, 2, 3, 4);
    rig.live(Q, B, 2, 3);
    assertThat(rig.cursor(B)).hasValue(3);
    assertThat(rig.cursor(A)).as("not before it is admitted").hasValue(1);
    assertThat(rig.status(A).queued()).isEqualTo(2);
    rig.port.release();
    rig.settle();
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L, 4L);
    assertThat(rig.cursor(A)).hasValue(4);
  }

  /** users' ask J1, J2. */
  @Test
  void aSlowRankLosesOnlyItsOwnBatchesAndRecoversThem() {
    rig.config = rig.config.toBuilder().inboxBatches(2).build();
    rig.bringLive(A, P, 1);
    rig.bringLive(B, Q, 1);
    rig.port.holdAdmissionsOf = A;
    rig.live(P, A, 2, 3, 4, 5, 6); // 2 waits, 3 and 4 are queued, the rest is lost
    rig.live(Q, B, 2, 3, 4, 5, 6);
    assertThat(rig.count(IngestCount.OVERFLOWED_BATCHES)).isEqualTo(2);
    assertThat(rig.cursor(B)).hasValue(6);
    rig.port.release();
    rig.settle();
    assertThat(rig.count(IngestCount.LOSSES)).isEqualTo(1);
    assertThat(rig.events.starts(A))
        .as("asked for though no event shows it")
        .containsExactly(-1L, 5L);
    rig.events.last(A).answer(history(A, 6, 5, 6));
    rig.settle();
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aLossDuringARecoveryIsAskedForAfterIt() {
    rig.config = rig.config.toBuilder().inboxBatches(1).build();
    rig.bringLive(A, P, 1);
    rig.live(P, A, 3); // a gap
    var gap = rig.events.last(A);
    rig.events.listener.onBatch(new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 4)));
    rig.events.listener.onBatch(
        new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 5))); // no room
    rig.settle();
    gap.answer(history(A, 3, 2, 3));
    rig.settle();
    assertThat(rig.events.starts(A)).containsExactly(-1L, 2L, 5L);
    rig.events.last(A).answer(history(A, 5, 5));
    rig.settle();
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L, 4L, 5L);
  }

  @Test
  void aLossThatTurnsOutToBeNoneCostsNoTrust() {
    rig.config = rig.config.toBuilder().inboxBatches(1).build();
    rig.bringLive(A, P, 1);
    rig.events.listener.onBatch(new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 2)));
    rig.events.listener.onBatch(
        new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 2))); // a duplicate is lost
    rig.settle();
    rig.events.last(A).answer(new io.kvrelay.api.events.HistoryReply.TooNew(3, 2, 2));
    rig.settle();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.status(A).recovering()).isFalse();
  }

  @Test
  void aLiveOnlyRankThatLostABatchStartsOver() {
    rig.config = rig.config.toBuilder().inboxBatches(1).build();
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 1);
    rig.events.listener.onBatch(new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 2)));
    rig.events.listener.onBatch(new io.kvrelay.api.KvEventBatch(P, IngestRig.stores(A, 3)));
    rig.settle();
    assertThat(rig.blocks(A)).isEmpty();
    rig.live(P, A, 4);
    assertThat(rig.blocks(A)).containsExactly(4L);
    assertThat(rig.cursor(A)).hasValue(4);
  }

  @Test
  void theConfigurationNamesWhatItRefuses() {
    IngestConfig.Builder builder = IngestConfig.builder();
    assertThatThrownBy(() -> builder.recoveryAttemptTimeout(Duration.ZERO).build())
        .hasMessage("recoveryAttemptTimeout = PT0S: must be positive");
    assertThatThrownBy(() -> IngestConfig.builder().unknownGrace(Duration.ofMillis(-1)).build())
        .hasMessageStartingWith("unknownGrace = PT-0.001S");
    assertThatThrownBy(() -> IngestConfig.builder().inboxBatches(0).build())
        .hasMessage("inboxBatches = 0: must be positive");
    assertThatThrownBy(() -> new RecoveryPermits(0)).hasMessage("permits = 0: must be positive");
  }
}
