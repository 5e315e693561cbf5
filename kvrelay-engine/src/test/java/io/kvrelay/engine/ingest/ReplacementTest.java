package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.A1;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.clear;
import static io.kvrelay.engine.ingest.IngestRig.dump;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.engine.pool.RankReplacement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Dumps: what makes one valid, the first wave, quiet windows, and who fails alone. */
class ReplacementTest {
  private static final long P = 11;
  private static final long Q = 12;
  private static final long R = 13;
  private static final Member C = new Member(3, 0);

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  private void answer(Member member, HistoryReply reply) {
    rig.events.last(member).answer(reply);
    rig.settle();
  }

  private void startWave() {
    rig.with(recoverable(A, P)).with(recoverable(A1, Q)).with(recoverable(B, R)).start();
    rig.jitter();
  }

  private static KvEvent child(Member member, long block, long parent) {
    return KvEvent.stored(member, 0, new long[] {block}, new long[] {block}).parent(parent).build();
  }

  private static KvEvent removed(Member member, long... blocks) {
    return KvEvent.removed(member, 0, blocks).build();
  }

  // ---- What makes a dump valid ----

  static List<HistoryReply> invalidDumps() {
    return List.of(
        dump(1, child(A, 2, 1), store(A, 1)),
        dump(1, KvEvent.stored(A, 0, new long[] {1}, new long[] {1}).startPosition(7).build()),
        dump(1, store(A, 1), clear(A, 1, ResidencyDomain.WORKER)),
        dump(1, store(A, 1), clear(A, 1, ResidencyDomain.MISSING)),
        dump(
            1,
            store(A, 1),
            KvEvent.stored(A, 1, new long[] {2}, new long[] {2})
                .domain(ResidencyDomain.UNKNOWN)
                .build()));
  }

  @ParameterizedTest
  @MethodSource("invalidDumps")
  void anInvalidDumpFailsItsOwnRankAndNothingOfItIsInstalled(HistoryReply invalid) {
    startWave();
    answer(A, invalid);
    answer(A1, dumpOf(A1, 1, 5));
    answer(B, dumpOf(B, 1, 6));
    assertThat(rig.port.rebuilds).hasSize(1);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.blocks(A1)).containsExactly(5L);
    assertThat(rig.blocks(B)).containsExactly(6L);
    assertThat(rig.count(IngestCount.FAILED_REPLACEMENTS)).isEqualTo(1);
    assertThat(rig.pool.faults().poll()).as("a failed dump is no fault").isNull();
  }

  @Test
  void removalsInADumpAreAppliedInOrder() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    answer(A, dump(3, store(A, 1), child(A, 2, 1), removed(A, 2), removed(A, 77), removed(A)));
    assertThat(rig.blocks(A)).containsExactly(1L);
    rig.live(P, A, 5); // a gap
    answer(A, dump(5, store(A, 1), removed(A, 1)));
    rig.advance(10);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).hasValue(5);
  }

  @Test
  void anEmptyDumpRemovesTheRank() {
    rig.bringLive(A, P, 3);
    rig.live(P, A, 5);
    answer(A, dump(5));
    rig.advance(10);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.state().members()).isEmpty();
    assertThat(rig.cursor(A)).hasValue(5);
  }

  @Test
  void whatDoesNotConcernTheIndexIsIgnoredInADump() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    answer(
        A,
        dump(
            3,
            store(A, 1),
            clear(A, 1, ResidencyDomain.CACHE_OWNER),
            KvEvent.stored(A, 2, new long[] {2}, new long[] {2}).tier(StorageTier.DISK).build()));
    assertThat(rig.blocks(A)).containsExactly(1L);
  }

  @Test
  void afterAReplacementALiveRemovalFindsItsMapping() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    answer(A, dump(3, store(A, 1), child(A, 2, 1)));
    rig.live(P, KvEvent.removed(A, 4, new long[] {2}).build());
    assertThat(rig.blocks(A)).containsExactly(1L);
    assertThat(rig.pool.statistics().pool().unknownRemovals()).isZero();
  }

  // ---- The first wave ----

  @Test
  void theRanksOfTheFirstWaveAreInstalledInOneRebuild() {
    startWave();
    answer(A, dumpOf(A, 1, 1));
    rig.advance(1000);
    answer(B, dumpOf(B, 1, 2));
    rig.advance(1000);
    assertThat(rig.port.rebuilds).isEmpty();
    answer(A1, dumpOf(A1, 1, 3));
    assertThat(rig.port.rebuilds).as("at once, without a window").hasSize(1);
    assertThat(rig.port.rebuilds.get(0).keySet()).containsExactlyInAnyOrder(A, A1, B);
    assertThat(rig.cursor(A)).hasValue(1);
  }

  @Test
  void aRankOfTheWaveThatEndsWithoutHistoryIsNotWaitedFor() {
    startWave();
    answer(A, dumpOf(A, 1, 1));
    answer(B, dumpOf(B, 1, 2));
    assertThat(rig.port.rebuilds).isEmpty();
    answer(A1, new HistoryReply.InvalidRange(0, 0));
    assertThat(rig.port.rebuilds).hasSize(1);
  }

  @Test
  void aRankOfTheWaveWithoutAWholeDumpIsWaitedForUntilTheDeadline() {
    startWave();
    answer(A, dumpOf(A, 1, 1));
    answer(B, dumpOf(B, 1, 2));
    for (int i = 0; i < 8; i++) {
      answer(A1, new HistoryReply.TreeDumpFailed(1, "no memory"));
      rig.advance(i < 7 ? 200L << i : 0);
    }
    assertThat(rig.status(A1).recovering()).isFalse();
    rig.advance(30_000 - 25_400 - 1);
    assertThat(rig.port.rebuilds).isEmpty();
    rig.advance(1);
    assertThat(rig.port.rebuilds).hasSize(1);
    assertThat(rig.blocks(A)).containsExactly(1L);
  }

  @Test
  void aRankOutsideTheWaveWaitsAndDoesNotStartItsClock() {
    rig.with(recoverable(A, P)).start();
    rig.with(recoverable(B, Q));
    rig.reconcile();
    rig.jitter();
    answer(B, dumpOf(B, 1, 2));
    rig.advance(29_000); // A's own attempt is still under way
    assertThat(rig.port.rebuilds).isEmpty();
    answer(A, dumpOf(A, 1, 1));
    assertThat(rig.port.rebuilds).hasSize(1);
    assertThat(rig.port.rebuilds.get(0).keySet()).containsExactlyInAnyOrder(A, B);
  }

  @Test
  void aRankThatIsNoLongerToBeRecoveredIsNotWaitedFor() {
    startWave();
    answer(A, dumpOf(A, 1, 1));
    rig.without(A1, SourceStatus.MISSING);
    rig.ranks.remove(B);
    rig.reconcile();
    assertThat(rig.port.rebuilds).hasSize(1);
    assertThat(rig.blocks(A)).containsExactly(1L);
  }

  @Test
  void ifNobodyIsLeftToStartTheClockADumpFromOutsideDoes() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.live(P, clear(A, 8, ResidencyDomain.MISSING)); // A will never deliver
    rig.with(recoverable(B, Q));
    rig.reconcile();
    rig.jitter();
    answer(B, dumpOf(B, 1, 2));
    rig.advance(29_999);
    assertThat(rig.port.rebuilds).isEmpty();
    rig.advance(1);
    assertThat(rig.blocks(B)).containsExactly(2L);
  }

  @Test
  void withoutARecoverableRankThereIsNoWave() {
    rig.start();
    rig.with(recoverable(A, P));
    rig.reconcile();
    rig.jitter();
    answer(A, dumpOf(A, 1, 1));
    rig.advance(5);
    assertThat(rig.port.rebuilds).hasSize(1);
  }

  // ---- Later ----

  @Test
  void laterDumpsWaitForAQuietWindow() {
    rig.start();
    rig.with(recoverable(A, P)).with(recoverable(B, Q)).with(recoverable(C, R));
    rig.reconcile();
    rig.jitter();
    answer(A, dumpOf(A, 1, 1));
    rig.advance(3);
    answer(B, dumpOf(B, 1, 2));
    rig.advance(6);
    assertThat(rig.port.rebuilds).as("one arrived in the first window").isEmpty();
    rig.advance(1);
    assertThat(rig.port.rebuilds).hasSize(1);
    rig.advance(10);
    answer(C, dumpOf(C, 1, 3));
    rig.advance(5);
    assertThat(rig.port.rebuilds).hasSize(2);
    assertThat(rig.port.rebuilds.get(1).keySet()).containsExactly(C);
  }

  @Test
  void oneRebuildAtATime() {
    rig.start();
    rig.with(recoverable(A, P)).with(recoverable(B, Q));
    rig.reconcile();
    rig.jitter();
    rig.port.holdRebuilds = true;
    answer(A, dumpOf(A, 1, 1));
    rig.advance(5);
    answer(B, dumpOf(B, 1, 2));
    rig.advance(100);
    assertThat(rig.port.rebuilds).hasSize(1);
    rig.port.release();
    rig.settle();
    rig.advance(5);
    assertThat(rig.port.rebuilds).hasSize(2);
    assertThat(rig.blocks(B)).containsExactly(2L);
  }

  @Test
  void ofTheSameRankTwiceInOneBatchTheEarlierStands() {
    ReplacementBatcher batcher =
        new ReplacementBatcher(
            rig.port, rig.runtime, IngestRig.ATTEMPT, new IngestCounters(), List.of());
    List<String> outcomes = new ArrayList<>();
    RankReplacement first = new RankReplacement(A);
    RankReplacement second = new RankReplacement(A);
    first.push(store(A, 1));
    second.push(store(A, 2));
    batcher.submit(first, error -> outcomes.add("first " + error));
    batcher.submit(
        second, error -> outcomes.add("second " + (error == null ? null : error.getMessage())));
    rig.advance(10);
    assertThat(outcomes).hasSize(2).contains("first null");
    assertThat(outcomes.toString()).contains("rank 1/0 twice");
    assertThat(rig.blocks(A)).containsExactly(1L);
  }

  @Test
  void aFailedRebuildFailsEveryRankOfItAndThePoolIsUntouched() {
    rig.start();
    rig.with(recoverable(A, P)).with(recoverable(B, Q));
    rig.reconcile();
    rig.jitter();
    rig.port.failRebuild = new IllegalStateException("no memory");
    answer(A, dumpOf(A, 1, 1));
    answer(B, dumpOf(B, 1, 2));
    rig.advance(10);
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.status(B).resetPending()).isTrue();
    assertThat(rig.state().members()).isEmpty();
    rig.port.failRebuild = null;
    rig.advance(103);
    answer(A, dumpOf(A, 1, 1));
    answer(B, dumpOf(B, 1, 2));
    rig.advance(10);
    assertThat(rig.blocks(A)).containsExactly(1L);
    assertThat(rig.blocks(B)).containsExactly(2L);
  }
}
