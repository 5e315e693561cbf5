package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.A1;
import static io.kvrelay.engine.pool.PoolFixtures.B;
import static io.kvrelay.engine.pool.PoolFixtures.chain;
import static io.kvrelay.engine.pool.PoolFixtures.clear;
import static io.kvrelay.engine.pool.PoolFixtures.engine;
import static io.kvrelay.engine.pool.PoolFixtures.engines;
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
import io.kvrelay.engine.testing.Json;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PoolStateTest {
  private static final int NEVER = Integer.MAX_VALUE;

  private final PoolState pool = pool(1000, NEVER);

  private static PoolState pool(long expectedBlocks, int publishEvery) {
    PoolState pool = new PoolState(CkfConfig.of(expectedBlocks), publishEvery);
    pool.startMaterializing();
    return pool;
  }

  private KvEventErrorKind apply(KvEvent.Builder event) {
    return pool.apply(event.build()).firstError();
  }

  private static KvEventErrorKind apply(PoolState pool, KvEvent.Builder event) {
    return pool.apply(event.build()).firstError();
  }

  // Ownership

  @Test
  void aBlockOfTwoMembersLeavesTheFilterWithItsLastOwner() {
    apply(store(A, 1));
    apply(store(B, 1));
    assertThat(pool.statistics().contributions()).isEqualTo(2);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(1);

    apply(remove(A, 1));
    assertThat(pool.filterContains(1)).isTrue();
    assertThat(pool.ownerCount(1)).isEqualTo(1);
    apply(remove(B, 1));

    assertThat(pool.filterContains(1)).isFalse();
    assertThat(pool.ownerCount(1)).isZero();
    assertThat(pool.members()).isEmpty();
  }

  @Test
  void aliasesOfOneMemberCountEachAndAClearTakesThemAll() {
    apply(storeAs(A, new long[] {10}, 1));
    apply(storeAs(A, new long[] {11}, 1));
    assertThat(pool.ownerCount(1)).isEqualTo(2);

    apply(clear(A));

    assertThat(pool.ownerCount(1)).isZero();
    assertThat(pool.filterContains(1)).isFalse();
  }

  @Test
  void twoEnginesIdsOfOneRootLandOnOneBlock() {
    for (Json alias : Json.resource("/vectors/hash_vectors.json").get("engine_aliases")) {
      long local = alias.get("local_hash").u64();
      long[] engineHashes = alias.get("engine_hashes").u64s();
      apply(storeAs(A, new long[] {engineHashes[0]}, local));
      apply(storeAs(B, new long[] {engineHashes[1]}, local));

      assertThat(pool.statistics().uniqueBlocks())
          .isEqualTo(alias.get("expect_owner_entries").integer());
      assertThat(pool.ownerCount(alias.get("expect_canonical").u64()))
          .isEqualTo(alias.get("expect_owner_count").integer());
    }
  }

  @Test
  void aClearTouchesNoSiblingRankAndNoOtherWorkersShare() {
    apply(store(A, 1, 2));
    apply(store(A1, 1));
    apply(store(B, 1));

    apply(clear(A));

    assertThat(pool.members()).containsExactly(A1, B);
    assertThat(pool.ownerCount(1)).isEqualTo(2);
    assertThat(pool.ownerCount(chain(1, 2)[1])).isZero();
  }

  @Test
  void anUnknownRemovalIsCountedAndDeletesNothingOfEqualFingerprint() {
    apply(storeAs(A, new long[] {5}, 1491));

    EventOutcome outcome = pool.apply(KvEvent.removed(B, 1, new long[] {5, 1491}).build());

    assertThat(outcome.firstError()).isNull();
    assertThat(outcome.unknownRemovals()).isEqualTo(2);
    assertThat(pool.statistics().unknownRemovals()).isEqualTo(2);
    assertThat(pool.filterContains(1491)).isTrue();
  }

  @ParameterizedTest
  @EnumSource(
      value = StorageTier.class,
      names = {"HOST_PINNED", "DISK", "EXTERNAL"})
  void otherTiersAreIgnoredButAClearIsNot(StorageTier tier) {
    apply(store(A, 1));
    EventOutcome ignored = pool.apply(store(A, 2).tier(tier).build());
    assertThat(ignored.ignored()).isEqualTo(IgnoreReason.NON_PRIMARY_TIER);
    assertThat(pool.apply(remove(A, 1).tier(tier).build()).ignored())
        .isEqualTo(IgnoreReason.NON_PRIMARY_TIER);
    assertThat(pool.pendingEvents()).isEqualTo(1);

    pool.apply(clear(A).tier(tier).domain(ResidencyDomain.MISSING).build());

    assertThat(pool.members()).isEmpty();
    assertThat(pool.statistics().ignored(IgnoreReason.NON_PRIMARY_TIER)).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource({
    "HOST_PINNED, WORKER",
    "HOST_PINNED, MISSING",
    "DISK, WORKER",
    "EXTERNAL, WORKER",
    "DEVICE, MISSING"
  })
  void aWorkersClearClearsWhateverItsTier(StorageTier tier, ResidencyDomain domain) {
    apply(store(A, 1, 2));
    apply(store(B, 1));

    EventOutcome outcome = pool.apply(clear(A).tier(tier).domain(domain).build());

    assertThat(outcome.firstError()).isNull();
    assertThat(outcome.ignored()).isNull();
    assertThat(pool.members()).containsExactly(B);
    assertThat(pool.ownerCount(1)).isEqualTo(1);
    assertThat(pool.pendingEvents()).isEqualTo(3);
  }

  @Test
  void aCacheOwnersEventsAreIgnoredWhereTheyMayBeAndRefusedOnDevice() {
    apply(store(A, 1));
    ResidencyDomain owner = ResidencyDomain.CACHE_OWNER;

    assertThat(pool.apply(clear(A).domain(owner).build()).ignored())
        .isEqualTo(IgnoreReason.CACHE_OWNER_DOMAIN);
    assertThat(pool.apply(store(A, 2).domain(owner).tier(StorageTier.DISK).build()).ignored())
        .isEqualTo(IgnoreReason.CACHE_OWNER_DOMAIN);
    assertThat(apply(store(A, 2).domain(owner)))
        .isEqualTo(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN);
    assertThat(apply(remove(A, 1).domain(owner)))
        .isEqualTo(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN);

    assertThat(pool.mappingCount(A)).isEqualTo(1);
    assertThat(pool.pendingEvents()).isEqualTo(1);
    assertThat(pool.statistics().ignored(IgnoreReason.CACHE_OWNER_DOMAIN)).isEqualTo(2);
    assertThat(pool.statistics().errors(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN))
        .isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource({"UNKNOWN, DEVICE", "INVALID, DEVICE", "UNKNOWN, DISK", "INVALID, EXTERNAL"})
  void anUnsupportedDomainFailsOnEveryTierAndChangesNothing(
      ResidencyDomain domain, StorageTier tier) {
    apply(store(A, 1));
    for (KvEvent.Builder event : new KvEvent.Builder[] {store(A, 2), remove(A, 1), clear(A)}) {
      assertThat(apply(event.domain(domain).tier(tier)))
          .isEqualTo(KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN);
    }
    assertThat(pool.mappingCount(A)).isEqualTo(1);
    assertThat(pool.pendingEvents()).isEqualTo(1);
  }

  @Test
  void aBlockIsRemovedThroughItsEngineHashAlone() {
    long salted = 6665157333201000639L;
    apply(storeAs(A, new long[] {77}, salted));

    apply(KvEvent.removed(A, 2, new long[] {salted}));
    assertThat(pool.filterContains(salted)).isTrue();
    apply(KvEvent.removed(A, 3, new long[] {77}));

    assertThat(pool.filterContains(salted)).isFalse();
  }

  @Test
  void anEmptyRemovalOnlyCountsForTheCadence() {
    assertThat(apply(KvEvent.removed(A, 1, new long[0]))).isNull();
    assertThat(pool.pendingEvents()).isEqualTo(1);
  }

  @Test
  void aBadHashInAListDoesNotStopTheOthersAndItsMappingStays() {
    apply(store(A, 1, 2, 3));
    pool.exact().filter.remove(pool.exact().addressing.mix(1), (bucket, before) -> {});

    assertThat(apply(remove(A, 1, 2, 3))).isEqualTo(KvEventErrorKind.INDEXER_INVARIANT_VIOLATION);

    assertThat(pool.mappingCount(A)).isEqualTo(1);
    assertThat(pool.isMapped(A, engine(1))).isTrue();
    assertThat(pool.ownerCount(1)).isEqualTo(1);
  }

  @Test
  void aClearThatAnErrorInterruptsKeepsExactStateAndCanBeRepeated() {
    apply(store(A, range(1, 50)));
    long broken = chain(range(1, 50))[20];
    long mix = pool.exact().addressing.mix(broken);
    pool.exact().filter.remove(mix, (bucket, before) -> {});
    assertThat(apply(clear(A))).isEqualTo(KvEventErrorKind.INDEXER_INVARIANT_VIOLATION);
    assertThat(pool.mappingCount(A)).isPositive();
    assertThat(pool.statistics().contributions()).isEqualTo(pool.mappingCount(A));
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(pool.mappingCount(A));

    pool.exact().filter.insert(mix, (bucket, before) -> {});
    assertThat(apply(clear(A))).isNull();

    assertThat(pool.members()).isEmpty();
    assertThat(pool.statistics().contributions()).isZero();
    assertThat(pool.scanOccupiedBuckets()).isZero();
  }

  @Test
  void theSameHashTwiceInOneListIsRemovedOnce() {
    apply(store(A, 1));
    apply(store(B, 1));

    EventOutcome outcome = pool.apply(remove(A, 1, 1).build());

    assertThat(outcome.unknownRemovals()).isEqualTo(1);
    assertThat(pool.ownerCount(1)).isEqualTo(1);
  }

  @Test
  void aliasesRemovedByOneListTakeTheBlockOut() {
    apply(storeAs(A, new long[] {10}, 1));
    apply(storeAs(A, new long[] {11}, 1));

    assertThat(apply(KvEvent.removed(A, 1, new long[] {10, 11}))).isNull();

    assertThat(pool.filterContains(1)).isFalse();
    assertThat(pool.members()).isEmpty();
  }

  @Test
  void unknownMembersAreRemovedAndClearedWithSuccess() {
    assertThat(apply(clear(A))).isNull();
    assertThat(apply(remove(A, 1))).isNull();
    assertThat(pool.removeRank(A)).isNull();
    assertThat(pool.removeWorker(9)).isNull();
  }

  @Test
  void removingAWorkerTakesAllItsRanks() {
    apply(store(A, 1));
    apply(store(A1, 2));
    apply(store(B, 3));

    assertThat(pool.removeWorker(A.workerId())).isNull();

    assertThat(pool.members()).containsExactly(B);
    BucketImages images = pool.drain();
    assertThat(images.count()).isEqualTo(1);
  }

  @Test
  void everyHashIsAKeyLikeAnyOther() {
    apply(storeAs(A, new long[] {0, -1, Long.MIN_VALUE}, 0, 0, -1));

    assertThat(pool.sequenceHash(A, 0)).isZero();
    assertThat(pool.ownerCount(0)).isEqualTo(1);
    assertThat(pool.filterContains(0)).isTrue();
    apply(KvEvent.removed(A, 1, new long[] {0, -1, Long.MIN_VALUE}));
    assertThat(pool.members()).isEmpty();
    assertThatThrownBy(() -> pool.sequenceHash(A, 0)).isInstanceOf(NoSuchElementException.class);
  }

  @Test
  void removalsGiveTheMemoryOfTheirOwnersBack() {
    for (int i = 0; i < 100; i++) {
      apply(store(A, range(1000L * i, 1000 * i + 499)));
    }
    apply(store(B, range(1, 10)));
    long full = pool.statistics().ownerBytes();
    for (int i = 0; i < 100; i++) {
      apply(remove(A, range(1000L * i, 1000 * i + 499)));
    }

    assertThat(pool.members()).containsExactly(B);
    assertThat(pool.statistics().ownerBytes()).isLessThan(full / 100);
    assertThat(pool.ownerCount(chain(range(1, 10))[9])).isEqualTo(1);
  }

  // Stores

  @Test
  void blocksAreNamedByTheirChainAndNeverByEngineHashes() {
    apply(store(A, 1, 2, 3));

    for (long hash : chain(1, 2, 3)) {
      assertThat(pool.isResident(hash)).isTrue();
    }
    for (long hash : engines(1, 2, 3)) {
      assertThat(pool.ownerCount(hash)).isZero();
    }
  }

  @Test
  void blocksStoredOneByOneHaveTheNamesOfABatch() {
    apply(store(A, 1));
    apply(store(A, 2).parent(engine(1)));
    apply(store(A, 3).parent(engine(2)).startPosition(7));
    apply(store(B, 1, 2, 3));

    for (long hash : chain(1, 2, 3)) {
      assertThat(pool.ownerCount(hash)).isEqualTo(2);
    }
  }

  /** Missing parents are counted in blocks, and events by kind and tier. */
  @Test
  void missingParentsAreCountedInBlocksAndEventsByKindAndTier() {
    apply(store(A, 1, 2).parent(engine(9)));
    apply(store(A, 3).tier(StorageTier.HOST_PINNED));
    apply(store(A, 4));

    PoolStatistics statistics = pool.statistics();
    assertThat(statistics.parentNotFoundBlocks()).isEqualTo(2);
    assertThat(statistics.events().of(KvEvent.Kind.STORED, StorageTier.DEVICE)).isEqualTo(2);
    assertThat(statistics.events().of(KvEvent.Kind.STORED, StorageTier.HOST_PINNED)).isEqualTo(1);
    assertThat(statistics.events().of(KvEvent.Kind.REMOVED, StorageTier.DEVICE)).isZero();
  }

  @Test
  void anUnknownParentRefusesTheEventWholly() {
    apply(store(B, 9));

    assertThat(apply(store(A, 1, 2).parent(engine(9))))
        .isEqualTo(KvEventErrorKind.PARENT_BLOCK_NOT_FOUND);

    assertThat(pool.statistics().parentNotFound()).isEqualTo(1);
    assertThat(pool.members()).containsExactly(B);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(1);
  }

  @Test
  void anEmptyListSucceedsWhateverElseItSays() {
    assertThat(apply(store(A).parent(5).startPosition(7))).isNull();
    assertThat(pool.members()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(longs = {KvEvent.NO_START_POSITION, 0})
  void aRootStartsAtZero(long position) {
    assertThat(apply(store(A, 1).startPosition(position))).isNull();
  }

  @Test
  void aRootThatStartsElsewhereIsRefused() {
    assertThat(apply(store(A, 1).startPosition(7)))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(apply(store(A, 1).startPosition(0xFFFF_FFFFL)))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(pool.members()).isEmpty();
  }

  @Test
  void anEngineHashThatMeansAnotherBlockRefusesTheEventWithTheValidBlocksBeforeIt() {
    apply(storeAs(A, new long[] {50}, 1));

    assertThat(apply(storeAs(A, new long[] {60, 50}, 5, 6)))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);

    assertThat(pool.isMapped(A, 60)).isFalse();
    assertThat(pool.statistics().contributions()).isEqualTo(1);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(1);
    assertThat(pool.filterContains(5)).isFalse();
  }

  @Test
  void aConflictInsideOneEventIsRefusedToo() {
    assertThat(apply(storeAs(A, new long[] {60, 61, 60}, 1, 2, 3)))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(pool.members()).isEmpty();
    assertThat(pool.statistics().uniqueBlocks()).isZero();

    apply(store(A, 9));
    assertThat(apply(storeAs(A, new long[] {60, 61, 60}, 1, 2, 3)))
        .isEqualTo(KvEventErrorKind.INVALID_BLOCK_SEQUENCE);
    assertThat(pool.mappingCount(A)).isEqualTo(1);
    assertThat(pool.statistics().contributions()).isEqualTo(1);
  }

  @Test
  void theSameMappingAgainIsNoConflict() {
    apply(store(A, 1, 2));

    assertThat(apply(store(A, 1, 2, 3))).isNull();

    assertThat(pool.statistics().contributions()).isEqualTo(3);
    assertThat(pool.ownerCount(1)).isEqualTo(1);
  }

  @Test
  void aCountThatWouldOverflowCommitsNothing() {
    apply(store(A, 1));
    OwnerMap owners = pool.exact().owners;
    long key = Chunks.mix(1);
    owners.setLargeCount(owners.find(key), key, OwnerMap.MAX_COUNT);

    assertThat(apply(store(B, 1, 2))).isEqualTo(KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW);

    assertThat(pool.members()).containsExactly(A);
    assertThat(pool.ownerCount(1)).isEqualTo(0xFFFF_FFFFL);
    assertThat(pool.ownerCount(chain(1, 2)[1])).isZero();
    owners.setLargeCount(owners.find(key), key, OwnerMap.MAX_COUNT - 1);
    assertThat(apply(store(B, 1, 2))).isNull();
    assertThat(pool.ownerCount(1)).isEqualTo(0xFFFF_FFFFL);
  }

  @Test
  void aBlockMayHaveMoreOwnersThanAnEntryCanCount() {
    for (int worker = 0; worker < 200; worker++) {
      apply(store(new Member(worker, 0), 1, 2));
      assertThat(pool.ownerCount(1)).isEqualTo(worker + 1L);
    }
    for (int worker = 0; worker < 200; worker++) {
      assertThat(pool.isResident(1)).isTrue();
      apply(remove(new Member(worker, 0), 1, 2));
      assertThat(pool.ownerCount(1)).isEqualTo(199L - worker);
    }
    assertThat(pool.scanOccupiedBuckets()).isZero();
  }

  @Test
  void childrenOutliveTheirParentButNoNewOneIsBorn() {
    apply(store(A, 1, 2));
    apply(remove(A, 1));
    assertThat(pool.isMapped(A, engine(2))).isTrue();

    assertThat(apply(store(A, 3).parent(engine(1))))
        .isEqualTo(KvEventErrorKind.PARENT_BLOCK_NOT_FOUND);
    assertThat(apply(store(A, 3).parent(engine(2)))).isNull();
    assertThat(pool.ownerCount(chain(1, 2, 3)[2])).isEqualTo(1);
  }

  // Capacity

  private static PoolState overfull() {
    PoolState pool = pool(1, NEVER);
    assertThat(apply(pool, store(A, range(1, 32)))).isEqualTo(KvEventErrorKind.CAPACITY_EXHAUSTED);
    return pool;
  }

  @Test
  void anOverfullFilterOmitsBlocksThatStayOwned() {
    PoolState full = overfull();

    PoolStatistics statistics = full.statistics();
    assertThat(statistics.contributions()).isEqualTo(32);
    assertThat(statistics.uniqueBlocks()).isEqualTo(32);
    assertThat(statistics.occupiedSlots()).isEqualTo(8);
    assertThat(statistics.capacityFailures()).isEqualTo(24);
    for (long hash : chain(range(1, 32))) {
      assertThat(full.isResident(hash)).isIn(full.filterContains(hash), false);
    }
  }

  @Test
  void anOmittedParentNamesItsChildAndIsRemovedWithoutPhysicalWork() {
    PoolState full = overfull();
    long[] hashes = chain(range(1, 33));
    assertThat(full.isResident(hashes[31])).isFalse();
    apply(full, store(A, 33).parent(engine(32)));
    assertThat(full.sequenceHash(A, engine(33))).isEqualTo(hashes[32]);
    long touches = full.statistics().physicalTouches();

    assertThat(apply(full, remove(A, 32))).isNull();

    assertThat(full.ownerCount(hashes[31])).isZero();
    assertThat(full.statistics().physicalTouches()).isEqualTo(touches);
  }

  @Test
  void freeingSpaceAdmitsNothingByItselfAndTheSameStoreDoes() {
    PoolState full = overfull();
    long[] hashes = chain(range(1, 32));
    int freed = 0;
    while (!full.isResident(hashes[freed])) {
      freed++;
    }
    apply(full, remove(A, freed + 1L));
    assertThat(full.statistics().occupiedSlots()).isEqualTo(7);

    assertThat(apply(full, store(A, range(1, 32)))).isNull();

    // The removed block itself came back as a new mapping, with relocation.
    assertThat(full.statistics().occupiedSlots()).isEqualTo(8);
    assertThat(full.statistics().contributions()).isEqualTo(32);
  }

  @Test
  void aRepeatedStoreOfAnOmittedBlockTakesAFreeHomeSlot() {
    PoolState full = pool(1, NEVER);
    for (long local = 1; local <= 9; local++) {
      apply(full, store(A, local));
    }
    assertThat(full.isResident(9)).isFalse();
    apply(full, remove(A, 5));

    assertThat(apply(full, store(A, 9))).isNull();

    assertThat(full.isResident(9)).isTrue();
  }

  @Test
  void aRepeatedStoreIntoFullHomesIsSilent() {
    PoolState full = overfull();

    assertThat(apply(full, store(A, range(1, 32)))).isNull();

    assertThat(full.statistics().capacityFailures()).isEqualTo(24);
  }

  @Test
  void anotherOwnerOfAnOmittedBlockTriesAgainWithRelocationAndIsCounted() {
    PoolState full = overfull();

    assertThat(apply(full, store(B, range(1, 32)))).isEqualTo(KvEventErrorKind.CAPACITY_EXHAUSTED);

    assertThat(full.statistics().capacityFailures()).isEqualTo(48);
    assertThat(full.statistics().contributions()).isEqualTo(64);
  }

  /**
   * Looks for a block without room, and for another one in the way whose slot helps only by a
   * relocation.
   */
  @Test
  void anotherOwnerOfAnOmittedBlockAdmitsItByARelocationWhereItsFirstOwnerCannot() {
    int admitted = 0;
    for (long gone = 1; gone <= 24; gone++) {
      PoolState full = pool(8, NEVER);
      for (long local = 1; local <= 24; local++) {
        apply(full, store(A, local));
      }
      assertThat(full.isResident(24)).isFalse();
      if (!full.isResident(gone)) {
        continue;
      }
      apply(full, remove(A, gone));
      assertThat(apply(full, store(A, 24))).isNull();
      if (full.isResident(24)) {
        continue; // a slot of its own was free
      }
      long touches = full.statistics().physicalTouches();

      assertThat(apply(full, store(B, 24))).isNull();

      admitted++;
      assertThat(full.isResident(24)).isTrue();
      assertThat(full.ownerCount(24)).isEqualTo(2);
      assertThat(full.statistics().physicalTouches()).isGreaterThan(touches + 1);
      for (long local = 1; local <= 24; local++) {
        assertThat(full.isResident(local)).isIn(false, full.filterContains(local));
      }
    }
    assertThat(admitted).isPositive();
  }

  /** Below the design load of 0.8 a window for each relocation would only be memory. */
  @Test
  void onlyAFilterAboveItsLoadReservesARelocationForEveryNewBlock() {
    int buckets = 16_384;
    PoolState empty = pool(50_000, NEVER);
    apply(empty, store(A, range(1, 100)));
    PoolState loaded = pool(50_000, NEVER);
    for (int i = 0; i < 53_000; i += 100) {
      apply(loaded, store(A, range(1000L * i, 1000 * i + 99)));
      loaded.drain();
    }
    assertThat(empty.statistics().buckets()).isEqualTo(buckets);

    assertThat(empty.statistics().windowBytes()).isLessThan(buckets / 8 + 12 * 1000);
    assertThat(loaded.statistics().windowBytes()).isEqualTo(buckets / 8 + 12 * buckets);
  }

  @Test
  void storingAResidentBlockAgainChangesNothingButTheCadence() {
    apply(store(A, 1));
    pool.drain();

    apply(store(A, 1));

    assertThat(pool.pendingEvents()).isEqualTo(1);
    assertThat(pool.drain()).isNull();
    assertThat(pool.pendingEvents()).isZero();
  }

  // Publication

  @Test
  void whatReturnsToItsOldValueInsideOneWindowIsNotPublished() {
    apply(store(A, 1, 2));
    apply(remove(A, 1, 2));

    assertThat(pool.drain()).isNull();

    assertThat(pool.statistics().netRevertedBuckets()).isEqualTo(2);
    assertThat(pool.statistics().distinctTouchedBuckets()).isEqualTo(2);
    assertThat(pool.statistics().emittedImages()).isZero();
  }

  @Test
  void theLastRemovalFromABucketIsAZeroImage() {
    apply(store(A, 1));
    int bucket = pool.drain().buckets()[0];
    apply(remove(A, 1));

    BucketImages images = pool.drain();

    assertThat(images.buckets()).containsExactly(bucket);
    assertThat(images.words()).containsExactly(0);
  }

  @Test
  void imagesStandInTheOrderOfFirstTouch() {
    apply(store(A, range(1, 30)));
    apply(remove(A, 30));
    long[] hashes = chain(range(1, 29));
    int[] expected =
        java.util.Arrays.stream(hashes)
            .mapToInt(hash -> pool.exact().addressing.bucketA(pool.exact().addressing.mix(hash)))
            .distinct()
            .toArray();

    assertThat(pool.drain().buckets()).isEqualTo(expected);
  }

  @Test
  void withoutASnapshotDrainsCountButBuildNothing() {
    PoolState unleased = new PoolState(CkfConfig.of(1000), 1);

    EventOutcome outcome = unleased.apply(store(A, 1, 2).build());

    assertThat(outcome.boundary()).isTrue();
    assertThat(outcome.publication()).isNull();
    assertThat(unleased.hasPending()).isFalse();
    assertThat(unleased.statistics().distinctTouchedBuckets()).isEqualTo(2);
    assertThat(unleased.statistics().netRevertedBuckets()).isZero();
    assertThat(unleased.statistics().emittedImages()).isZero();
  }

  @Test
  void withoutASnapshotDrainsCountRevertedBucketsTooAndEmitNone() {
    PoolState unleased = new PoolState(CkfConfig.of(1000), NEVER);
    apply(unleased, store(A, 1, 2));
    unleased.drain();
    apply(unleased, store(A, 3));
    apply(unleased, store(A, 4));
    apply(unleased, remove(A, 3));

    assertThat(unleased.drain()).isNull();

    assertThat(unleased.statistics().distinctTouchedBuckets()).isEqualTo(4);
    assertThat(unleased.statistics().netRevertedBuckets()).isEqualTo(1);
    assertThat(unleased.statistics().emittedImages()).isZero();
    assertThat(unleased.hasPending()).isFalse();
  }

  @Test
  void aBoundaryIsReachedByFailedEventsToo() {
    PoolState every2 = pool(1000, 2);
    every2.apply(store(A, 1).build());

    EventOutcome outcome = every2.apply(store(A, 2).parent(99).build());

    assertThat(outcome.firstError()).isEqualTo(KvEventErrorKind.PARENT_BLOCK_NOT_FOUND);
    assertThat(outcome.boundary()).isTrue();
    assertThat(outcome.publication().count()).isEqualTo(1);
  }

  @Test
  void aDrainWithNothingPendingDoesNothing() {
    assertThat(pool.drain()).isNull();
    assertThat(pool.hasPending()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1})
  void aThresholdThatIsNotPositiveIsRefusedByName(int threshold) {
    assertThatThrownBy(() -> new PoolState(CkfConfig.of(1), threshold))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("publishEveryEvents = " + threshold);
  }
}
