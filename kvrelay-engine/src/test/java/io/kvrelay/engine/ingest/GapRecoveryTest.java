package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.clear;
import static io.kvrelay.engine.ingest.IngestRig.dump;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.history;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.SourceTrust;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Gaps, what the source answers, and what becomes of what was buffered meanwhile. */
class GapRecoveryTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  private void answer(HistoryReply reply) {
    rig.events.last(A).answer(reply);
    rig.settle();
    rig.advance(10); // a replacement's quiet window
  }

  @Test
  void aGapAsksOnceForWhatIsMissingAndDrainsWhatCameMeanwhile() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4, 3);
    assertThat(rig.events.starts(A)).containsExactly(-1L, 2L);
    assertThat(rig.events.last(A).request().end()).isEmpty();
    assertThat(rig.cursor(A)).as("a gap changes nothing yet").hasValue(1);
    assertThat(rig.blocks(A)).containsExactly(1L);

    answer(history(A, 2, 2));
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L, 4L);
    assertThat(rig.cursor(A)).hasValue(4);
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.count(IngestCount.GAPS)).isEqualTo(1);
  }

  @Test
  void whatHistoryAlreadyBroughtIsNotAdmittedTwice() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5);
    answer(history(A, 5, 3, 4, 5));
    rig.live(P, A, 6, 7);
    assertThat(rig.port.admitted(A)).containsExactly(3L, 4L, 5L, 6L, 7L);
    assertThat(rig.port.resets(A)).isZero();
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.cursor(A)).hasValue(7);
  }

  @Test
  void aWorkerThatForgotAnswersWithADumpThatReplacesTheRank() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5);
    answer(dumpOf(A, 5, 2, 5));
    assertThat(rig.blocks(A)).containsExactly(2L, 5L);
    assertThat(rig.port.resets(A)).isZero();
    rig.live(P, A, 6, 7);
    assertThat(rig.cursor(A)).hasValue(7);
    assertThat(rig.events.asked).hasSize(2);
  }

  @Test
  void theTailIsAdmittedInIdOrderEachIdOnce() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 5, 3, 4, 4);
    answer(history(A, 3, 2, 3));
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L, 4L, 5L);
  }

  @Test
  void holesInTheTailAreToldAndNotAskedForAgain() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 5, 7);
    answer(history(A, 3, 2, 3));
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L, 5L, 7L);
    assertThat(rig.cursor(A)).hasValue(7);
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.count(IngestCount.SKIPPED_IDS)).isEqualTo(2);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    assertThat(rig.status(A).reason()).isEqualTo("lost events 6..6");
  }

  @Test
  void anOverflowingBufferLosesItsOldestArrivals() {
    rig.bringLive(A, P, 2);
    rig.live(
        P, LongStream.rangeClosed(4, 1030).mapToObj(id -> store(A, id)).toArray(KvEvent[]::new));
    assertThat(rig.status(A).buffered()).isEqualTo(1024);
    assertThat(rig.count(IngestCount.EVICTED_EVENTS)).isEqualTo(3);
    answer(history(A, 3, 3));
    assertThat(rig.port.admitted(A))
        .containsExactlyElementsOf(
            LongStream.concat(LongStream.of(3), LongStream.rangeClosed(7, 1030)).boxed().toList());
    assertThat(rig.cursor(A)).hasValue(1030);
    assertThat(rig.status(A).reason()).isEqualTo("lost events 4..6");
  }

  @Test
  void anOverflowThatLosesTheHighestIdIsToldToo() {
    rig.bringLive(A, P, 4);
    rig.live(P, A, 10);
    KvEvent[] copies = new KvEvent[1024];
    java.util.Arrays.fill(copies, store(A, 6));
    rig.live(P, copies);
    answer(history(A, 5, 5));
    assertThat(rig.port.admitted(A)).containsExactly(5L, 6L);
    assertThat(rig.cursor(A)).hasValue(6);
    assertThat(rig.status(A).reason()).isEqualTo("lost events 7..10");
    assertThat(rig.count(IngestCount.SKIPPED_IDS)).isEqualTo(4);
  }

  @Test
  void eventsNeverMoveTheCursorBack() {
    rig.bringLive(A, P, 3);
    rig.live(P, A, 5);
    answer(history(A, 2, 2));
    assertThat(rig.cursor(A)).hasValue(5);
    assertThat(rig.port.admitted(A)).containsExactly(2L, 5L);
  }

  @Test
  void aDumpMovesTheCursorBackIfItEndsThere() {
    rig.bringLive(A, P, 5);
    rig.live(P, A, 8);
    answer(dumpOf(A, 3, 1, 2, 3));
    assertThat(rig.cursor(A)).hasValue(8);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L, 8L);
    assertThat(rig.status(A).reason()).isEqualTo("lost events 4..7");

    rig.live(P, A, 10);
    answer(dumpOf(A, 3, 3));
    rig.live(P, A, 4);
    assertThat(rig.count(IngestCount.STALE_EVENTS)).isEqualTo(1);
  }

  @Test
  void aDumpWithNothingBehindItSetsTheCursorEvenBackwards() {
    rig.bringLive(A, P, 5);
    rig.handle(rig.fault(A, P, io.kvrelay.engine.pool.PoolFault.Action.RECOVER_RANK));
    rig.jitter();
    answer(dumpOf(A, 3, 1, 2, 3));
    assertThat(rig.cursor(A)).hasValue(3);
    rig.live(P, A, 4);
    assertThat(rig.cursor(A)).hasValue(4);
  }

  @Test
  void historyThatBeginsAtAClearIsAppliedAsItIs() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 9);
    answer(
        new HistoryReply.Events(
            List.of(clear(A, 7, ResidencyDomain.MISSING), store(A, 8), store(A, 9)), 9));
    assertThat(rig.blocks(A)).containsExactly(8L, 9L);
    assertThat(rig.cursor(A)).hasValue(9);
    assertThat(rig.status(A).clears()).isEqualTo(1);
  }

  @Test
  void aBufferedEventZeroIsDroppedByTheDrain() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.live(P, A, 0, 1);
    answer(dump(0));
    assertThat(rig.port.admitted(A)).containsExactly(1L);
    assertThat(rig.cursor(A)).hasValue(1);
  }

  @Test
  void aBufferedEventZeroIsDroppedByADegradedDrainToo() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.live(P, A, 0, 1);
    answer(new HistoryReply.InvalidRange(0, 0));
    assertThat(rig.port.admitted(A)).containsExactly(1L);
    assertThat(rig.cursor(A)).hasValue(1);
  }

  @Test
  void anAdmissionThatFailsDuringADrainLeavesTheCursorAndFencesTheRank() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4, 5);
    rig.port.failAdmissionOf = 4;
    answer(history(A, 3, 2, 3));
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L);
    assertThat(rig.cursor(A)).hasValue(1);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.status(A).buffered()).isZero();
    assertThat(rig.status(A).recovering()).isFalse();
  }

  @Test
  void aDumpAheadOfItsWatermarkConvergesWithTheRepeatedTail() {
    rig.bringLive(A, P, 1);
    KvEvent gone = KvEvent.removed(A, 5, new long[] {2}).build();
    rig.live(P, store(A, 4), gone, store(A, 6));
    // The state is that after event 6, though it promises only 3.
    answer(dumpOf(A, 3, 1, 3, 4, 6));
    assertThat(rig.port.admitted(A)).containsExactly(4L, 5L, 6L);
    assertThat(rig.blocks(A)).containsExactly(1L, 3L, 4L, 6L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.pool.faults().poll()).isNull();
  }

  @Test
  void anotherRanksEventInHistoryCostsTheRankEverything() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);
    rig.live(P, A, 5);
    answer(new HistoryReply.Events(List.of(store(A, 3), clear(B, 4, ResidencyDomain.WORKER)), 4));
    corrupt();
  }

  @Test
  void anotherRanksEventInADumpCostsTheRankEverything() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);
    rig.live(P, A, 5);
    int rebuilds = rig.port.rebuilds.size();
    answer(dump(4, clear(B, 0, ResidencyDomain.MISSING), store(A, 1)));
    corrupt();
    assertThat(rig.port.rebuilds).hasSize(rebuilds);
  }

  private void corrupt() {
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.port.admitted(A)).isEmpty();
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.status(A).buffered()).isZero();
    assertThat(rig.blocks(B)).containsExactly(1L, 2L);
    assertThat(rig.count(IngestCount.CORRUPT_RECOVERIES)).isEqualTo(1);
    rig.advance(100);
    assertThat(rig.port.resets(A))
        .as("reset at once, and again before it is taken up")
        .isEqualTo(2);
    assertThat(rig.status(A).recovering()).isTrue();
  }

  @Test
  void aReplacementThatFailsFencesTheRankAndLeavesThePool() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5);
    rig.port.failRebuild = new IllegalStateException("no rebuild");
    answer(dumpOf(A, 5, 7));
    assertThat(rig.blocks(A)).containsExactly(1L, 2L);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.status(A).reason()).contains("no rebuild");
    assertThat(rig.count(IngestCount.FAILED_REPLACEMENTS)).isEqualTo(1);
  }

  @Test
  void anAnswerForASourceThatIsNoLongerActiveHasNoEffect() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5);
    var old = rig.events.last(A);
    rig.with(recoverable(A, Q));
    old.reply().complete(history(A, 5, 3, 4, 5)); // on its way when the view changes
    rig.reconcile();
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).isEmpty();
  }

  @Test
  void afterANonAuthoritativeEndAContiguousEventGoesOnAndTheNextGapAsksAgain() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5);
    for (int i = 0; i < 8; i++) {
      rig.events.last(A).answer(new HistoryReply.TreeDumpFailed(5, "no memory"));
      rig.settle();
      rig.advance(12_800);
    }
    assertThat(rig.status(A).recovering()).isFalse();
    assertThat(rig.status(A).buffered()).isEqualTo(1);
    assertThat(rig.status(A).reason()).contains("no memory");
    rig.live(P, A, 3);
    assertThat(rig.cursor(A)).hasValue(3);
    rig.live(P, A, 6);
    assertThat(rig.events.last(A).request().start()).hasValue(4);
    answer(history(A, 4, 4));
    assertThat(rig.port.admitted(A)).containsExactly(3L, 4L, 5L, 6L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }
}
