package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.clear;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryReply.Events;
import io.kvrelay.api.events.HistoryReply.InvalidRange;
import io.kvrelay.api.events.HistoryReply.TooNew;
import io.kvrelay.api.events.HistoryReply.TreeDump;
import io.kvrelay.api.events.HistoryReply.TreeDumpFailed;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.RankReplacement;
import io.kvrelay.engine.testing.Seeds;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The worker's side: which answer, what a dump holds, and how dumps are shared. */
class HistoryDeskTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private HistoryDesk desk = new HistoryDesk(A, 8, runtime.executor());

  private void record(long from, long to) {
    for (long id = from; id <= to; id++) {
      desk.record(store(A, id));
    }
  }

  private CompletableFuture<HistoryReply> ask(HistoryRequest request) {
    return desk.answer(request, true).toCompletableFuture();
  }

  private HistoryReply answer(HistoryRequest request) {
    CompletableFuture<HistoryReply> answer = ask(request);
    runtime.runUntilIdle();
    assertThat(answer).isCompleted();
    return answer.join();
  }

  private HistoryReply from(long start) {
    return answer(HistoryRequest.from(A, start));
  }

  private HistoryReply range(long start, long end) {
    return answer(new HistoryRequest(A, OptionalLong.of(start), OptionalLong.of(end)));
  }

  private TreeDump dump() {
    return (TreeDump) answer(HistoryRequest.full(A));
  }

  private static List<Long> ids(HistoryReply reply) {
    return ((Events) reply).events().stream().map(KvEvent::eventId).toList();
  }

  /** What a consumer makes of a dump is what the worker holds. */
  private static void assertInstalls(TreeDump dump, Map<Long, Long> expected) {
    RankReplacement replacement = new RankReplacement(A);
    for (KvEvent event : dump.events()) {
      assertThat(replacement.push(event)).as("push of %s", event).isNull();
    }
    PoolState state =
        new PoolState(PoolConfig.builder().expectedUniqueBlocks(4096).build().filter(), 16);
    assertThat(state.replaceRanks(Map.of(A, replacement))).isNull();
    assertThat(state.mappingCount(A)).isEqualTo(expected.size());
    expected.forEach((engine, name) -> assertThat(state.sequenceHash(A, engine)).isEqualTo(name));
  }

  @Test
  void anEndBeforeTheStartIsInvalidEvenWithoutHistory() {
    assertThat(range(5, 4)).isEqualTo(new InvalidRange(5, 4));
    record(1, 6);
    assertThat(range(5, 4)).isEqualTo(new InvalidRange(5, 4));
    assertThat(range(-1, 1)).as("unsigned").isEqualTo(new InvalidRange(-1, 1));
  }

  @Test
  void withoutHistoryTheAnswerIsADumpThatEndsAtZero() {
    assertThat(dump()).isEqualTo(new TreeDump(List.of(), 0, HistoryReply.ResetScope.ALL));
    assertThat(((TreeDump) from(7)).last()).isZero();
  }

  @Test
  void theStartDecidesBetweenHistoryAndDump() {
    record(1, 12); // holds 5..12
    assertThat(from(13)).isEqualTo(new TooNew(13, 12, 12));
    assertThat(range(13, 20)).isEqualTo(new TooNew(13, 20, 12));
    assertThat(ids(from(12))).containsExactly(12L);
    assertThat(ids(from(5))).containsExactly(5L, 6L, 7L, 8L, 9L, 10L, 11L, 12L);
    assertThat(((Events) from(5)).last()).isEqualTo(12);
    assertThat(from(4)).isInstanceOf(TreeDump.class);
  }

  @Test
  void anEndDoesNotShortenTheAnswer() {
    record(1, 6);
    assertThat(ids(range(4, 5))).containsExactly(4L, 5L, 6L);
  }

  @Test
  void historyMayBeginAtTheLastClearOfAllAndNotLater() {
    record(1, 2);
    desk.record(clear(A, 3, ResidencyDomain.MISSING));
    record(4, 4);
    desk.record(clear(A, 5, ResidencyDomain.MISSING));
    record(6, 6);
    desk.record(clear(A, 7, ResidencyDomain.WORKER));
    assertThat(ids(from(1))).containsExactly(5L, 6L, 7L);
    assertThat(ids(from(6))).containsExactly(6L, 7L);
  }

  @Test
  void requestsMeanwhileShareOneDumpAndTheNextOneIsTheSame() {
    record(1, 3);
    CompletableFuture<HistoryReply> first = ask(HistoryRequest.full(A));
    CompletableFuture<HistoryReply> second = ask(HistoryRequest.full(A));
    CompletableFuture<HistoryReply> third = ask(HistoryRequest.from(A, 2));
    runtime.runUntilIdle();
    assertThat(first.join()).isEqualTo(second.join());
    assertThat(third.join()).as("not in need of a dump").isInstanceOf(Events.class);
    assertThat(dump()).isEqualTo(first.join());
    assertThat(desk.builds()).isEqualTo(1);
  }

  @Test
  void aKeptDumpIsExtendedByHalfTheRingAndNoFurther() {
    record(1, 3);
    assertThat(dump().last()).isEqualTo(3);
    record(4, 5);
    TreeDump extended = dump();
    assertThat(extended.last()).isEqualTo(5);
    assertThat(extended.events()).hasSize(5);
    record(6, 7);
    assertThat(dump().last()).as("base + 4").isEqualTo(7);
    assertThat(desk.builds()).isEqualTo(1);
    record(8, 8);
    assertThat(dump().last()).isEqualTo(8);
    assertThat(desk.builds()).as("base + 5 is made anew").isEqualTo(2);
  }

  @Test
  void aRemovalSinceMakesADumpAnew() {
    record(1, 3);
    dump();
    desk.record(KvEvent.removed(A, 4, new long[] {2}).build());
    TreeDump fresh = dump();
    assertThat(desk.builds()).isEqualTo(2);
    assertThat(fresh.events()).allMatch(event -> event.kind() == KvEvent.Kind.STORED).hasSize(2);
  }

  @Test
  void aClearOrAGapSinceDropsTheKeptDump() {
    record(1, 3);
    dump();
    desk.record(KvEvent.cleared(A, 4).domain(ResidencyDomain.CACHE_OWNER).build());
    assertThat(dump().last()).isEqualTo(4);
    assertThat(desk.builds()).isEqualTo(2);
    desk.record(store(A, 9));
    assertThat(dump().last()).isEqualTo(9);
    assertThat(desk.builds()).isEqualTo(3);
  }

  @Test
  void aDumpThatAClearOrAGapOvertakesIsNotServed() {
    record(1, 3);
    CompletableFuture<HistoryReply> overtaken = ask(HistoryRequest.full(A));
    runtime.runOne(); // made, not handed out yet
    desk.record(clear(A, 4, ResidencyDomain.WORKER));
    runtime.runUntilIdle();
    assertThat(((TreeDump) overtaken.join()).events()).isEmpty();
    assertThat(((TreeDump) overtaken.join()).last()).isEqualTo(4);

    desk.record(store(A, 6)); // a gap: nothing is kept
    CompletableFuture<HistoryReply> again = ask(HistoryRequest.full(A));
    runtime.runOne();
    desk.record(store(A, 9));
    runtime.runUntilIdle();
    assertThat(((TreeDump) again.join()).last()).isEqualTo(9);
  }

  @Test
  void aFailedDumpIsToldAndNeverEmpty() {
    record(1, 3);
    desk.failDumps(2);
    assertThat(answer(HistoryRequest.full(A)))
        .isInstanceOfSatisfying(
            TreeDumpFailed.class, failed -> assertThat(failed.last()).isEqualTo(3));
    CompletableFuture<HistoryReply> old =
        desk.answer(HistoryRequest.full(A), false).toCompletableFuture();
    runtime.runUntilIdle();
    assertThat(old.join()).isInstanceOf(HistoryReply.Failed.class);
    assertThat(dump().events()).hasSize(3);
  }

  @Test
  void whoWaitedForADumpThatFailedIsDecidedAnew() {
    record(1, 3);
    desk.failDumps(1);
    CompletableFuture<HistoryReply> first = ask(HistoryRequest.full(A));
    CompletableFuture<HistoryReply> second = ask(HistoryRequest.full(A));
    runtime.runUntilIdle();
    assertThat(first.join()).isInstanceOf(TreeDumpFailed.class);
    assertThat(second.join()).isInstanceOf(TreeDump.class);
  }

  @Test
  void aBlockThatOutlivesItsParentKeepsItsName() {
    desk.record(KvEvent.stored(A, 1, new long[] {1, 2, 3}, new long[] {1, 2, 3}).build());
    desk.record(KvEvent.removed(A, 2, new long[] {1, 2}).build());
    desk.record(KvEvent.stored(A, 3, new long[] {1}, new long[] {50}).build()); // reused
    Map<Long, Long> blocks = desk.primary();
    assertThat(blocks.keySet()).containsExactlyInAnyOrder(3L, 1L);
    assertInstalls(dump(), blocks);
  }

  @Test
  void aDumpTellsEveryTier() {
    record(1, 1);
    desk.record(
        KvEvent.stored(A, 2, new long[] {8}, new long[] {8}).tier(StorageTier.DISK).build());
    desk.record(
        KvEvent.stored(A, 3, new long[] {9}, new long[] {9})
            .tier(StorageTier.EXTERNAL)
            .domain(ResidencyDomain.CACHE_OWNER)
            .build());
    assertThat(dump().events())
        .extracting(KvEvent::tier)
        .containsExactly(StorageTier.DEVICE, StorageTier.DISK, StorageTier.EXTERNAL);
    desk.record(clear(A, 4, ResidencyDomain.WORKER));
    assertThat(dump().events()).hasSize(2);
    desk.record(clear(A, 5, ResidencyDomain.CACHE_OWNER));
    assertThat(dump().events()).hasSize(1);
    desk.record(clear(A, 6, ResidencyDomain.MISSING));
    assertThat(dump().events()).isEmpty();
  }

  @Test
  void whatTheCacheCannotHoldIsRefusedByName() {
    record(1, 1);
    assertThatThrownBy(() -> desk.record(store(B, 2)))
        .hasMessage("event.member = 2/0: must be 1/0");
    assertThatThrownBy(
            () ->
                desk.record(KvEvent.stored(A, 2, new long[] {5}, new long[] {5}).parent(4).build()))
        .hasMessageContaining("its parent is not in the cache");
    assertThatThrownBy(
            () -> desk.record(KvEvent.stored(A, 2, new long[] {1}, new long[] {7}).build()))
        .hasMessage("event.engineHash = 1: names another block already");
    assertThatThrownBy(
            () ->
                desk.record(
                    KvEvent.stored(A, 2, new long[] {5}, new long[] {5}).startPosition(3).build()))
        .hasMessageStartingWith("event.startPosition = 3");
    assertThatThrownBy(() -> desk.record(clear(A, 2, ResidencyDomain.INVALID)))
        .hasMessageStartingWith("event.domain = INVALID");
    assertThat(ids(from(1))).as("nothing was recorded").containsExactly(1L);
    assertThatThrownBy(() -> new EventRing(0)).hasMessage("ringCapacity = 0: must be positive");
  }

  @Test
  void dumpsAndHistoriesOfRandomCachesAgree() {
    Random random = Seeds.random();
    for (int round = 0; round < 30; round++) {
      desk = new HistoryDesk(A, 1 + random.nextInt(32), runtime.executor());
      RandomWorker worker = new RandomWorker(random, A);
      for (int i = 0; i < 200; i++) {
        for (KvEvent event : worker.next(1 + random.nextInt(3))) {
          desk.record(event);
        }
        if (random.nextInt(10) == 0) {
          TreeDump dump = dump();
          assertThat(dump.last()).isEqualTo(worker.lastId());
          Map<Long, Long> blocks = desk.primary();
          assertThat(blocks).isEqualTo(worker.blocks());
          assertInstalls(dump, blocks);
        }
      }
    }
  }

  @Test
  void aLongChainIsDumped() {
    desk.record(store(A, 1));
    for (long id = 2; id <= 50_000; id++) {
      desk.record(KvEvent.stored(A, id, new long[] {id}, new long[] {id}).parent(id - 1).build());
    }
    assertThat(dump().events()).hasSize(50_000);
  }
}
