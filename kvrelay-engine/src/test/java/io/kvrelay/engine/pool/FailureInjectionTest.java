package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.B;
import static io.kvrelay.engine.pool.PoolFixtures.chain;
import static io.kvrelay.engine.pool.PoolFixtures.clear;
import static io.kvrelay.engine.pool.PoolFixtures.range;
import static io.kvrelay.engine.pool.PoolFixtures.remove;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.engine.ckf.CkfConfig;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

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
  void aRemovalWhoseWindowCannotGrowKeepsTheMappingAndTheRestGoesOn() {
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
    assertThat(pool.statistics().contributions()).isEqualTo(1).isLessThan(mappings);
    assertThat(pool.statistics().uniqueBlocks()).isEqualTo(1);
    assertThat(pool.statistics().occupiedSlots()).isEqualTo(1);
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
