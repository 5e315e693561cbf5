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
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.testing.Seeds;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every allocation of every operation fails once. The exact state is then as before, or, where the
 * rule says so, what was committed is complete; and the same operation succeeds afterwards.
 */
class FailureInjectionTest {
  private static final int MOST_ALLOCATIONS = 200;

  private final FaultyMemory memory = new FaultyMemory();

  /** One member with blocks, one about to be changed, everything published. */
  private PoolState prepared() {
    memory.untilFailure = -1;
    PoolState pool = new PoolState(CkfConfig.of(20_000), Integer.MAX_VALUE, memory);
    pool.startMaterializing();
    for (int i = 0; i < 40; i++) {
      pool.apply(store(A, range(1000L * i, 1000 * i + 20)).build());
      pool.drain();
    }
    return pool;
  }

  /**
   * Fails the first, second, ... allocation of an operation until one run needs no more of them.
   */
  private int injectEverywhere(Function<PoolState, KvEventErrorKind> operation) {
    for (int at = 0; at < MOST_ALLOCATIONS; at++) {
      PoolState pool = prepared();
      PoolStatistics before = pool.statistics();
      long[] words = pool.copyWords();
      memory.untilFailure = at;
      KvEventErrorKind error = operation.apply(pool);
      boolean failed = memory.untilFailure < 0;
      memory.untilFailure = -1;
      if (!failed) {
        assertThat(error).isNull();
        return at;
      }
      if (error == KvEventErrorKind.ALLOCATION_FAILED) {
        assertThat(pool.copyWords()).isEqualTo(words);
        assertThat(pool.statistics().contributions()).isEqualTo(before.contributions());
        assertThat(pool.statistics().uniqueBlocks()).isEqualTo(before.uniqueBlocks());
        assertThat(pool.members()).containsExactly(A);
        assertThat(operation.apply(pool)).isNull();
      } else {
        // A table that could not shrink stays as large as it is.
        assertThat(error).isNull();
      }
    }
    throw new AssertionError("more than " + MOST_ALLOCATIONS + " allocations");
  }

  @Test
  void aStoreOfANewMember() {
    int allocations =
        injectEverywhere(pool -> pool.apply(store(B, range(1, 600)).build()).firstError());
    assertThat(allocations).isGreaterThan(6);
  }

  @Test
  void aStoreOfAKnownMember() {
    injectEverywhere(pool -> pool.apply(store(A, range(500_000, 502_000)).build()).firstError());
  }

  @Test
  void aMemberThatFindsNoEntryLeavesNoOwnersBehind() {
    PoolState pool = prepared();
    long[] words = pool.copyWords();
    long bytes = pool.statistics().lineageBytes();
    memory.refuseEntries = true;

    assertThat(pool.apply(store(B, range(1, 600)).build()).firstError())
        .isEqualTo(KvEventErrorKind.ALLOCATION_FAILED);

    memory.heal();
    assertThat(pool.members()).containsExactly(A);
    assertThat(pool.copyWords()).isEqualTo(words);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(840);
    assertThat(pool.statistics().lineageBytes()).isEqualTo(bytes);
    assertThat(pool.apply(store(B, range(1, 600)).build()).firstError()).isNull();
    assertThat(pool.mappingCount(B)).isEqualTo(600);
  }

  /** 4096 slots, of which some are taken by blocks of A. Evictions of one insert: at most 20. */
  private PoolState filled(int blocks) {
    memory.heal();
    PoolState pool =
        new PoolState(new CkfConfig(3200, CkfFormat.DEFAULT_SEED, 20), Integer.MAX_VALUE, memory);
    for (int i = 0; i < blocks; i++) {
      pool.apply(store(A, i).build());
      pool.drain();
    }
    return pool;
  }

  /**
   * Fails the first, second, ... allocation of a store into such a filter, and if wanted all that
   * follow, until one run needs no more of them. A store that changes anything tells of every block
   * that it has no room for.
   *
   * @return how often it changed something although an allocation had failed
   */
  private int storeWhereAllocationsFail(int filled, int stored, boolean lasting) {
    KvEvent event = store(B, range(1_000_000, 1_000_000 + stored - 1)).build();
    int committed = 0;
    for (int at = 0; at < MOST_ALLOCATIONS; at++) {
      PoolState pool = filled(filled);
      PoolStatistics before = pool.statistics();
      long[] words = pool.copyWords();
      memory.refused = 0;
      memory.untilFailure = at;
      memory.lasting = lasting;
      KvEventErrorKind error = pool.apply(event).firstError();
      memory.heal();
      PoolStatistics after = pool.statistics();
      long omitted = after.capacityFailures() - before.capacityFailures();
      assertThat(after.uniqueBlocks() - after.occupiedSlots()).isEqualTo(after.capacityFailures());
      if (error == KvEventErrorKind.ALLOCATION_FAILED) {
        assertThat(pool.copyWords()).isEqualTo(words);
        assertThat(pool.members()).containsExactly(A);
        assertThat(after.uniqueBlocks()).isEqualTo(before.uniqueBlocks());
        assertThat(after.lineageBytes()).isEqualTo(before.lineageBytes());
        assertThat(pool.apply(event).firstError()).isNotEqualTo(error);
      } else {
        assertThat(error).isEqualTo(omitted > 0 ? KvEventErrorKind.CAPACITY_EXHAUSTED : null);
        committed += memory.refused;
      }
      assertThat(pool.mappingCount(B)).isEqualTo(stored);
      if (memory.refused == 0) {
        return committed;
      }
    }
    throw new AssertionError("more than " + MOST_ALLOCATIONS + " allocations");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStoreIntoAFilterAboveItsLoadChangesNothingOrCountsEveryOmission(boolean lasting) {
    storeWhereAllocationsFail(3890, 100, lasting);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRelocationWithoutMemoryForItsWindowOmitsItsBlockAndCountsIt(boolean lasting) {
    assertThat(storeWhereAllocationsFail(3050, 220, lasting)).isPositive();
  }

  @Test
  void storesThatFailAtRandomLeaveWhatTheRulesSay() {
    Random random = Seeds.random();
    int refused = 0;
    for (int round = 0; round < 100; round++) {
      memory.heal();
      memory.refused = 0;
      PoolEvents events = new PoolEvents(random, 4, 40);
      PoolModel model = new PoolModel();
      PoolState pool =
          new PoolState(
              new CkfConfig(1 + random.nextInt(300), CkfFormat.DEFAULT_SEED, 20), 16, memory);
      for (int i = 0; i < 200; i++) {
        KvEvent event = events.next();
        long omissions = pool.statistics().capacityFailures();
        boolean fails = event.kind() == KvEvent.Kind.STORED && random.nextInt(3) == 0;
        memory.untilFailure = fails ? random.nextInt(4) : -1;
        memory.lasting = random.nextBoolean();
        KvEventErrorKind error = pool.apply(event).firstError();
        memory.heal();
        if (error != KvEventErrorKind.ALLOCATION_FAILED) {
          boolean omitted = pool.statistics().capacityFailures() != omissions;
          KvEventErrorKind expected = model.apply(event);
          assertThat(error)
              .isEqualTo(
                  expected == null && omitted ? KvEventErrorKind.CAPACITY_EXHAUSTED : expected);
        }
      }
      PoolModelTest.check(pool, model);
      refused += memory.refused;
    }
    assertThat(refused).isGreaterThan(100);
  }

  @Test
  void aPushThatFindsNoMemoryLeavesWhatWasPushed() {
    KvEvent next = store(A, range(1000, 3000)).parent(engine(50)).build();
    for (int at = 0; ; at++) {
      memory.heal();
      RankReplacement replacement = new RankReplacement(A, memory);
      assertThat(replacement.push(store(A, range(1, 90)).build())).isNull();
      assertThat(replacement.push(remove(A, range(51, 90)).build())).isNull();
      long cost = replacement.cost();
      memory.untilFailure = at;
      KvEventErrorKind error = replacement.push(next);
      boolean failed = memory.untilFailure < 0;
      memory.heal();
      if (!failed) {
        assertThat(error).isNull();
        assertThat(at).isGreaterThan(10);
        return;
      }
      assertThat(error).isEqualTo(KvEventErrorKind.ALLOCATION_FAILED);
      assertThat(replacement.mappingCount()).isEqualTo(50);
      assertThat(replacement.cost()).isEqualTo(cost);
      assertThat(replacement.push(next)).isNull();
      PoolState pool = new PoolState(CkfConfig.of(5000), Integer.MAX_VALUE);
      assertThat(pool.replaceRanks(Map.of(A, replacement))).isNull();
      assertThat(pool.mappingCount(A)).isEqualTo(2051);
      assertThat(pool.statistics().occupiedSlots()).isEqualTo(2051);
      assertThat(pool.isMapped(A, engine(51))).isFalse();
    }
  }

  @Test
  void aClear() {
    injectEverywhere(
        pool -> {
          KvEventErrorKind error = pool.apply(clear(A).build()).firstError();
          if (error == null) {
            assertThat(pool.members()).isEmpty();
            pool.apply(store(A, 1).build());
          }
          return error;
        });
  }

  @Test
  void aReplacement() {
    int allocations =
        injectEverywhere(
            pool -> {
              RankReplacement replacement = new RankReplacement(B);
              replacement.push(store(B, range(1, 3000)).build());
              KvEventErrorKind error = pool.replaceRanks(Map.of(B, replacement));
              if (error == null) {
                assertThat(pool.filterContains(chain(range(1, 3000))[2999])).isTrue();
              }
              return error;
            });
    assertThat(allocations).isGreaterThan(6);
  }

  @Test
  void aRemovalNeedsNoMemoryButForItsWindow() {
    PoolState pool = prepared();
    memory.untilFailure = 0;

    assertThat(pool.apply(remove(A, range(0, 20)).build()).firstError()).isNull();

    assertThat(memory.untilFailure).isZero();
    memory.untilFailure = -1;
  }

  @Test
  void aRemovalWhoseWindowCannotGrowChangesNothingAndTheOthersGoOn() {
    memory.untilFailure = -1;
    PoolState pool = new PoolState(CkfConfig.of(100_000), Integer.MAX_VALUE, memory);
    for (int i = 0; i < 300; i++) {
      pool.apply(store(A, range(1000L * i, 1000 * i + 9)).build());
      pool.drain();
    }
    long mappings = pool.statistics().contributions();
    memory.untilFailure = 0;
    KvEventErrorKind error = null;
    for (int i = 0; i < 300; i++) {
      KvEventErrorKind next =
          pool.apply(remove(A, range(1000L * i, 1000 * i + 9)).build()).firstError();
      error = error == null ? next : error;
    }

    assertThat(error).isEqualTo(KvEventErrorKind.ALLOCATION_FAILED);
    assertThat(pool.statistics().contributions()).isEqualTo(10).isLessThan(mappings);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(10);
    assertThat(pool.statistics().occupiedSlots()).isEqualTo(10);
  }

  @Test
  void aRemovalLongerThanAnyEventBeforeChangesNothingWithoutMemory() {
    long[] all = new long[840];
    for (int i = 0; i < all.length; i++) {
      all[i] = 1000L * (i / 21) + i % 21;
    }
    KvEvent removal = remove(A, all).build();
    int refusals = 0;
    KvEventErrorKind error = KvEventErrorKind.ALLOCATION_FAILED;
    while (error != null) {
      PoolState pool = prepared();
      long[] words = pool.copyWords();
      memory.untilFailure = refusals;
      error = pool.apply(removal).firstError();
      memory.heal();
      if (error != null) {
        refusals++;
        assertThat(error).isEqualTo(KvEventErrorKind.ALLOCATION_FAILED);
        assertThat(pool.copyWords()).isEqualTo(words);
        assertThat(pool.mappingCount(A)).isEqualTo(840);
        assertThat(pool.apply(removal).firstError()).isNull();
      }
      assertThat(pool.members()).isEmpty();
      assertThat(pool.scanOccupiedBuckets()).isZero();
    }
    // Ten arrays to work in, and the two of the window.
    assertThat(refusals).isEqualTo(12);
  }

  @Test
  void aWorkerWhoseSecondRankCannotBeClearedKeepsThatRankAndTheCallCanBeRepeated() {
    PoolState pool = new PoolState(CkfConfig.of(20_000), Integer.MAX_VALUE, memory);
    pool.apply(store(A, range(1, 10)).build());
    for (int i = 0; i < 200; i++) {
      pool.apply(store(A1, range(1000L * i, 1000 * i + 20)).build());
      pool.drain();
    }
    memory.untilFailure = 0;

    assertThat(pool.removeWorker(A.workerId())).isEqualTo(KvEventErrorKind.ALLOCATION_FAILED);

    memory.heal();
    PoolStatistics statistics = pool.statistics();
    assertThat(pool.members()).containsExactly(A1);
    assertThat(statistics.contributions()).isEqualTo(4200);
    assertThat(statistics.uniqueBlocks()).isEqualTo(4200);
    assertThat(statistics.occupiedSlots()).isEqualTo(4200);
    assertThat(statistics.rankErrors(KvEventErrorKind.ALLOCATION_FAILED)).isEqualTo(1);
    assertThat(statistics.errors(KvEventErrorKind.ALLOCATION_FAILED)).isZero();
    assertThat(pool.removeWorker(A.workerId())).isNull();
    assertThat(pool.members()).isEmpty();
    assertThat(pool.scanOccupiedBuckets()).isZero();
  }

  @Test
  void ownersThatCannotBeTrimmedAreTriedAgainOnlyAfterHalfOfThemHaveGone() {
    memory.heal();
    PoolState pool = new PoolState(CkfConfig.of(50_000), Integer.MAX_VALUE, memory);
    for (int i = 0; i < 400; i++) {
      pool.apply(store(new Member(i, 0), range(1000L * i, 1000 * i + 99)).build());
      pool.drain();
    }
    memory.untilFailure = 0;
    memory.lasting = true;
    for (int i = 0; i < 399; i++) {
      assertThat(pool.removeRank(new Member(i, 0))).isNull();
      pool.drain();
    }
    assertThat(memory.refused).isBetween(3, 12);
    long untrimmed = pool.statistics().ownerBytes();
    memory.heal();

    assertThat(pool.removeRank(new Member(399, 0))).isNull();

    assertThat(pool.statistics().ownerBytes()).isLessThan(untrimmed / 50);
  }

  @Test
  void aDrainThatCannotBuildItsImagesKeepsTheWindowOpen() {
    PoolState pool = prepared();
    Mirror mirror = new Mirror(pool.copyWords());
    pool.apply(store(B, 1, 2).build());
    for (int at = 0; at < 2; at++) {
      memory.untilFailure = at;
      assertThat(pool.drain()).isNull();
      assertThat(pool.isDeferred()).isTrue();
      assertThat(pool.pendingEvents()).isEqualTo(1);
    }
    memory.untilFailure = -1;

    mirror.apply(pool.drain());

    assertThat(pool.isDeferred()).isFalse();
    assertThat(mirror.words).isEqualTo(pool.copyWords());
    assertThat(pool.statistics().deferredDrains()).isEqualTo(2);
  }

  @Test
  void anEventAtADeferredBoundaryIsNoBoundary() {
    PoolState pool = new PoolState(CkfConfig.of(1000), 1, memory);
    pool.startMaterializing();
    pool.apply(store(A, 1).build());
    KvEvent next = store(A, 2).build();
    memory.untilFailure = 0;
    EventOutcome outcome = pool.apply(next);
    memory.untilFailure = -1;

    assertThat(outcome.firstError()).isNull();
    assertThat(outcome.boundary()).isFalse();
    assertThat(pool.apply(store(A, 3).build()).publication().count()).isEqualTo(2);
  }

  @Test
  void aSnapshotThatCannotBeCopiedLeavesTheWindowAlone() {
    PoolState pool = prepared();
    pool.apply(store(B, 1).build());
    memory.untilFailure = 0;

    assertThatThrownBy(pool::copyWords).isInstanceOf(OutOfMemoryError.class);

    memory.untilFailure = -1;
    assertThat(pool.pendingEvents()).isEqualTo(1);
    assertThat(pool.copyWords()).hasSize(8192);
  }

  @Test
  void aFilterThatDoesNotFitIsNotBuilt() {
    memory.untilFailure = 0;
    assertThatThrownBy(() -> new PoolState(CkfConfig.of(1), 1, memory))
        .isInstanceOf(OutOfMemoryError.class);
  }
}
