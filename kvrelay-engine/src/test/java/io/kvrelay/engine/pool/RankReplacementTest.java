package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.A1;
import static io.kvrelay.engine.pool.PoolFixtures.B;
import static io.kvrelay.engine.pool.PoolFixtures.chain;
import static io.kvrelay.engine.pool.PoolFixtures.clear;
import static io.kvrelay.engine.pool.PoolFixtures.engine;
import static io.kvrelay.engine.pool.PoolFixtures.range;
import static io.kvrelay.engine.pool.PoolFixtures.remove;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static io.kvrelay.engine.pool.PoolFixtures.storeAs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.ckf.CkfConfig;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RankReplacementTest {
  private final PoolState pool = pool(1000);

  private static PoolState pool(long expectedBlocks) {
    PoolState pool = new PoolState(CkfConfig.of(expectedBlocks), Integer.MAX_VALUE);
    pool.startMaterializing();
    return pool;
  }

  private static RankReplacement replacement(Member member, KvEvent.Builder... dump) {
    RankReplacement replacement = new RankReplacement(member);
    for (KvEvent.Builder event : dump) {
      assertThat(replacement.push(event.build())).isNull();
    }
    return replacement;
  }

  @Test
  void whatDoesNotConcernTheIndexIsIgnored() {
    RankReplacement replacement =
        replacement(
            A,
            clear(A).domain(ResidencyDomain.CACHE_OWNER),
            store(A, 1).tier(StorageTier.DISK),
            store(A, 2).domain(ResidencyDomain.CACHE_OWNER).tier(StorageTier.EXTERNAL));

    assertThat(replacement.mappingCount()).isZero();
    assertThat(replacement.cost()).isEqualTo(3);
  }

  @Test
  void whatIsRefusedLeavesEarlierPushesUsable() {
    RankReplacement replacement = replacement(A, store(A, 1, 2));

    assertThat(replacement.push(clear(A).build()))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(replacement.push(store(A, 3).domain(ResidencyDomain.UNKNOWN).build()))
        .isEqualTo(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN);
    assertThat(replacement.push(store(A, 3).domain(ResidencyDomain.CACHE_OWNER).build()))
        .isEqualTo(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN);
    assertThat(replacement.push(store(A, 5).parent(engine(4)).build()))
        .isEqualTo(KvEventErrorKind.PARENT_BLOCK_NOT_FOUND);
    assertThat(replacement.push(store(A, 9).startPosition(7).build()))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(replacement.push(storeAs(A, new long[] {70, engine(1)}, 8, 9).build()))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(replacement.push(store(A, 3).parent(engine(2)).build())).isNull();

    assertThat(replacement.mappingCount()).isEqualTo(3);
    assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();
    assertThat(pool.isResident(chain(1, 2, 3)[2])).isTrue();
    assertThat(pool.ownerCount(8)).isZero();
  }

  @Test
  void anotherMembersEventIsADefectOfTheCaller() {
    assertThatThrownBy(() -> new RankReplacement(A).push(store(B, 1).build()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("2/0");
  }

  @Test
  void removalsInADumpAreAppliedInOrder() {
    RankReplacement replacement =
        replacement(
            A,
            store(A, 1),
            store(A, 2),
            remove(A, 1),
            remove(A),
            remove(A, 99),
            store(A, 1),
            store(A, 3),
            remove(A, 3));

    assertThat(replacement.unknownRemovals()).isEqualTo(1);
    pool.apply(remove(A, 5).build());
    assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();

    assertThat(pool.isResident(1)).isTrue();
    assertThat(pool.isResident(2)).isTrue();
    assertThat(pool.ownerCount(3)).isZero();
    assertThat(pool.statistics().unknownRemovals()).isEqualTo(2);
  }

  @Test
  void aBlockStoredAgainStandsAtTheEndOfTheOrder() {
    // Two buckets have room for eight. Roots 1..8 fit, so that the ninth in the order is left out.
    PoolState small = pool(1);
    RankReplacement replacement = new RankReplacement(A);
    for (long local = 1; local <= 9; local++) {
      replacement.push(store(A, local).build());
    }
    replacement.push(remove(A, 3).build());
    for (int again = 0; again < 300; again++) {
      replacement.push(store(A, 3).build());
      replacement.push(remove(A, 3).build());
    }
    replacement.push(store(A, 3).build());

    assertThat(small.replaceRanks(Map.of(A, replacement))).isNull();

    assertThat(small.statistics().contributions()).isEqualTo(9);
    assertThat(small.statistics().occupiedSlots()).isEqualTo(8);
    assertThat(small.isResident(3)).isFalse();
    assertThat(small.isResident(9)).isTrue();
  }

  @Test
  void afterARebuildQueriesAnswerAsBeforeAndLiveRemovalsWork() {
    pool.apply(store(A, range(1, 100)).build());
    pool.apply(store(B, range(1, 50)).build());
    RankReplacement same =
        replacement(A, store(A, range(1, 60)), store(A, range(61, 100)).parent(engine(60)));

    assertThat(pool.replaceRanks(Map.of(A, same))).isNull();

    for (long hash : chain(range(1, 100))) {
      assertThat(pool.filterContains(hash)).isTrue();
    }
    pool.apply(remove(A, range(1, 100)).build());
    assertThat(pool.statistics().contributions()).isEqualTo(50);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(50);
    assertThat(pool.ownerCount(chain(range(1, 100))[99])).isZero();
  }

  @Test
  void aSaturatedReplacementCommitsAllLineageAndOmitsOnlyResidency() {
    PoolState small = pool(1);

    assertThat(small.replaceRanks(Map.of(A, replacement(A, store(A, range(1, 100)))))).isNull();

    assertThat(small.statistics().contributions()).isEqualTo(100);
    assertThat(small.statistics().uniqueBlocks()).isEqualTo(100);
    assertThat(small.statistics().occupiedSlots()).isEqualTo(8);
    assertThat(small.statistics().capacityFailures()).isEqualTo(92);
  }

  @Test
  void replacingOneOfTwoOwnersOfABlockPublishesNothing() {
    pool.apply(store(A, 1).build());
    pool.apply(store(B, 1).build());
    pool.drain();
    long[] before = pool.copyWords();

    assertThat(pool.replaceRanks(Map.of(A, new RankReplacement(A)))).isNull();

    assertThat(pool.drain()).isNull();
    assertThat(pool.copyWords()).isEqualTo(before);
    assertThat(pool.members()).containsExactly(B);
    assertThat(pool.isResident(1)).isTrue();
  }

  @Test
  void theDifferenceIsToWhatWasPublishedAndNotToWhatIsPending() {
    pool.apply(store(A, 1).build());
    pool.drain();
    Mirror mirror = new Mirror(pool.copyWords());
    pool.apply(store(A, 2).build());
    pool.apply(remove(A, 1).build());

    // 1 comes back, so its bucket is as published; 2 goes and 3 comes.
    assertThat(pool.replaceRanks(Map.of(A, replacement(A, store(A, 1), store(A, 3))))).isNull();
    assertThat(pool.pendingEvents()).isEqualTo(1);

    BucketImages images = pool.drain();
    assertThat(images.count()).isEqualTo(1);
    mirror.apply(images);
    assertThat(mirror.words).isEqualTo(pool.copyWords());
  }

  @Test
  void severalRanksAreInstalledInOneRebuildAndTheOthersStay() {
    pool.apply(store(A, 1).build());
    pool.apply(store(A1, 2).build());
    pool.drain();
    Mirror mirror = new Mirror(pool.copyWords());

    assertThat(
            pool.replaceRanks(
                Map.of(
                    A, replacement(A, store(A, 10, 11)),
                    B, replacement(B, store(B, 10, 12)))))
        .isNull();

    mirror.apply(pool.drain());
    assertThat(mirror.batches).isEqualTo(1);
    assertThat(mirror.words).isEqualTo(pool.copyWords());
    assertThat(pool.members()).containsExactly(A, A1, B);
    assertThat(pool.ownerCount(10)).isEqualTo(2);
    assertThat(pool.ownerCount(1)).isZero();
    assertThat(pool.isResident(2)).isTrue();
  }

  @Test
  void countersAndTheFlagOutliveTheRebuild() {
    pool.apply(store(A, 1, 2).build());
    pool.apply(store(A, 5).parent(99).build());
    pool.apply(remove(A, 77).build());
    pool.drain();
    PoolStatistics before = pool.statistics();

    assertThat(pool.replaceRanks(Map.of(A, replacement(A, store(A, 1, 2, 3), remove(A, 8)))))
        .isNull();
    PoolStatistics after = pool.statistics();

    assertThat(pool.isMaterializing()).isTrue();
    assertThat(after.unknownRemovals()).isEqualTo(before.unknownRemovals() + 1);
    assertThat(after.parentNotFound()).isEqualTo(before.parentNotFound());
    assertThat(after.physicalTouches()).isEqualTo(before.physicalTouches() + 3);
    assertThat(after.emittedImages()).isEqualTo(before.emittedImages());
    assertThat(after.distinctTouchedBuckets()).isEqualTo(before.distinctTouchedBuckets());
  }

  @Test
  void aRebuildCountsOwnersAnew() {
    pool.apply(store(B, 1).build());
    OwnerMap owners = pool.exact().owners;
    long key = Chunks.mix(1);
    owners.setLargeCount(owners.find(key), key, OwnerMap.MAX_COUNT);

    assertThat(pool.replaceRanks(Map.of(A, replacement(A, store(A, 1))))).isNull();

    assertThat(pool.ownerCount(1)).isEqualTo(2);
  }

  /** A failure that is none of memory, once the content of another rank stands in the new state. */
  @Test
  void anOverflowOfACountAfterAnInstalledRankFailsTheWholeReplacementAndKeepsTheOldState() {
    for (int worker = 10; worker < 80; worker++) {
      pool.apply(store(new Member(worker, 0), 1, worker).build());
    }
    pool.apply(store(A, 1, 2, 3).build());
    pool.drain();
    pool.apply(store(A, 4).build());
    pool.exact().owners.limitCounts(71);
    ExactState old = pool.exact();
    long[] words = pool.copyWords();
    PoolStatistics before = pool.statistics();
    RankReplacement fits = replacement(A, store(A, 1, 7), store(A, 8));
    RankReplacement overflows = replacement(new Member(90, 0), store(new Member(90, 0), 1));

    assertThat(pool.replaceRanks(Map.of(A, fits, new Member(90, 0), overflows)))
        .isEqualTo(KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW);

    assertThat(pool.exact()).isSameAs(old);
    assertThat(pool.copyWords()).isEqualTo(words);
    assertThat(pool.ownerCount(1)).isEqualTo(71);
    assertThat(pool.isMapped(A, engine(4))).isTrue();
    assertThat(pool.isMapped(A, engine(8))).isFalse();
    PoolStatistics after = pool.statistics();
    assertThat(after.contributions()).isEqualTo(before.contributions());
    assertThat(after.pendingEvents()).isEqualTo(1);
    assertThat(after.dirtyBuckets()).isEqualTo(1);
    assertThat(after.errors()).isEqualTo(before.errors());
    assertThat(after.rankErrors(KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW)).isEqualTo(1);
    assertThat(pool.replaceRanks(Map.of(A, replacement(A, store(A, 1, 7))))).isNull();
  }

  @Test
  void capacityFailuresAndRevertedBucketsAreCarriedOverAReplacement() {
    PoolState full = pool(1);
    for (long local = 1; local <= 9; local++) {
      full.apply(store(A, local).build());
    }
    full.drain();
    full.apply(remove(A, 5).build());
    full.apply(store(A, 5).build());
    assertThat(full.drain()).isNull();
    PoolStatistics before = full.statistics();
    assertThat(before.capacityFailures()).isEqualTo(1);
    assertThat(before.netRevertedBuckets()).isEqualTo(1);

    assertThat(full.replaceRanks(Map.of(B, replacement(B, store(B, range(101, 200)))))).isNull();

    // One of A's nine blocks and all of B's have no room again.
    assertThat(full.statistics().capacityFailures()).isEqualTo(1 + 1 + 100);
    assertThat(full.statistics().netRevertedBuckets()).isEqualTo(1);
    assertThat(full.statistics().distinctTouchedBuckets())
        .isEqualTo(before.distinctTouchedBuckets());
  }

  @Test
  void whatADumpIgnoresIsCountedByReasonOnceItIsInstalled() {
    RankReplacement replacement =
        replacement(
            A,
            clear(A).domain(ResidencyDomain.CACHE_OWNER),
            store(A, 1).tier(StorageTier.DISK),
            remove(A, 1).tier(StorageTier.HOST_PINNED),
            store(A, 2).domain(ResidencyDomain.CACHE_OWNER).tier(StorageTier.EXTERNAL),
            store(A, 3));
    assertThat(replacement.ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(2);
    pool.apply(store(B, 9).tier(StorageTier.DISK).build());
    assertThat(pool.statistics().ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(1);

    assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();

    assertThat(pool.statistics().ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(3);
    assertThat(pool.statistics().ignored(IgnoreReason.CACHE_OWNER_DOMAIN)).isEqualTo(2);
    assertThat(pool.statistics().contributions()).isEqualTo(1);
  }

  @Test
  void aReplacementUnderAnotherRankIsRefusedByBothNames() {
    pool.apply(store(B, 9).build());
    RankReplacement misplaced = replacement(A, store(A, 1));
    RankReplacement right = replacement(A1, store(A1, 1));

    assertThatThrownBy(() -> pool.replaceRanks(Map.of(B, misplaced, A1, right)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(B.toString())
        .hasMessageContaining(A.toString());
    assertThatThrownBy(() -> new PoolCommand.Replace(Map.of(B, misplaced, A1, right)))
        .isInstanceOf(IllegalArgumentException.class);

    assertThat(pool.members()).containsExactly(B);
    assertThat(pool.isMapped(B, engine(9))).isTrue();
    assertThat(misplaced.push(store(A, 2).build())).isNull();
    assertThat(pool.replaceRanks(Map.of(A, misplaced, A1, right))).isNull();
    assertThat(pool.mappingCount(A)).isEqualTo(2);
  }

  @Test
  void aReplacementIsInstalledOnceAndTakesNoMoreEvents() {
    RankReplacement replacement = replacement(A, store(A, 1));
    assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();

    assertThatThrownBy(() -> replacement.push(store(A, 2).build()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(A.toString());
    assertThatThrownBy(() -> pool.replaceRanks(Map.of(A, replacement)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(A.toString());

    assertThat(pool.mappingCount(A)).isEqualTo(1);
    assertThat(pool.isMapped(A, engine(2))).isFalse();
  }

  @Test
  void aReplacementThatWaitsInAMailboxTakesNoMoreEventsAndIsNotHandedOverTwice() {
    RankReplacement replacement = replacement(A, store(A, 1));
    PoolCommand.Replace command = new PoolCommand.Replace(Map.of(A, replacement));

    assertThatThrownBy(() -> replacement.push(store(A, 2).build()))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> new PoolCommand.Replace(Map.of(A, replacement)))
        .isInstanceOf(IllegalStateException.class);

    assertThat(pool.replaceRanks(command.replacements)).isNull();
    assertThat(pool.mappingCount(A)).isEqualTo(1);
  }

  @Test
  void aDumpThatMostlyRemovesAgainIsInstalledWithoutTheRoomItNeeded() {
    RankReplacement replacement =
        replacement(A, store(A, range(1, 20_000)), remove(A, range(11, 20_000)));

    assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();

    assertThat(pool.mappingCount(A)).isEqualTo(10);
    assertThat(pool.isMapped(A, engine(10))).isTrue();
    assertThat(pool.statistics().lineageBytes()).isLessThan(2000);
    pool.apply(remove(A, range(1, 10)).build());
    assertThat(pool.statistics().lineageBytes()).isZero();
  }
}
