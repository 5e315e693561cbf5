package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.B;
import static io.kvrelay.engine.pool.PoolFixtures.remove;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class SteadyStateTest {
  @Test
  void churnOfStoresSharedStoresRemovalsAndRepetitionsAllocatesNothing() {
    PoolState pool = new PoolState(CkfConfig.of(5_000), 16);
    List<KvEvent> cycle = new ArrayList<>();
    for (int i = 0; i < 150; i++) {
      if (i == 50) {
        cycle.forEach(pool::apply);
        cycle.clear();
      }
      if (i >= 50) {
        long[] old = PoolFixtures.range(1000L * (i - 50), 1000 * (i - 50) + 31);
        cycle.add(remove(A, old).build());
        cycle.add(remove(B, old).build());
      }
      long[] blocks = PoolFixtures.range(1000L * (i % 100), 1000 * (i % 100) + 31);
      cycle.add(store(A, blocks).build());
      cycle.add(store(B, blocks).build());
      cycle.add(store(A, blocks).build());
    }
    Consumer<KvEvent> apply = pool::apply;
    long bytes = Allocations.bytes(3, () -> cycle.forEach(apply));

    assertThat(bytes).isZero();
    assertThat(pool.statistics().contributions()).isEqualTo(2 * 50 * 32);
  }

  /** A worker as engines are: it stores what it lacks, and evicts before it stores. */
  private static List<KvEvent> engineStream(
      Random random, io.kvrelay.api.Member member, int events) {
    List<KvEvent> stream = new ArrayList<>();
    Queue<Long> cached = new ArrayDeque<>();
    for (int i = 0; i < events; i++) {
      long prompt = random.nextInt(40);
      if (cached.contains(prompt)) {
        continue;
      }
      if (cached.size() == 12) {
        long gone = cached.remove();
        stream.add(remove(member, PoolFixtures.range(100 * gone, (int) (100 * gone + 9))).build());
      }
      cached.add(prompt);
      stream.add(store(member, PoolFixtures.range(100 * prompt, (int) (100 * prompt + 9))).build());
    }
    return stream;
  }

  @Test
  void aStreamAppliedTwiceEndsAsAppliedOnce() {
    Random random = Seeds.random();
    List<KvEvent> stream = engineStream(random, A, 500);
    stream.addAll(engineStream(random, B, 500));
    PoolModel once = new PoolModel();
    stream.forEach(once::apply);
    PoolState pool = new PoolState(CkfConfig.of(2000), 16);
    stream.forEach(pool::apply);
    PoolModelTest.check(pool, once);

    stream.forEach(pool::apply);

    once.unknownRemovals = pool.statistics().unknownRemovals();
    PoolModelTest.check(pool, once);
  }
}
