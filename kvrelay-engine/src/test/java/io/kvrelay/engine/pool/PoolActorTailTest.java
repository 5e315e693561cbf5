package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.A;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_1;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_2;
import static io.kvrelay.engine.pool.PoolFixtures.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** The tail of a lease whose receiver has gone, in a generation that has published before. */
class PoolActorTailTest {
  private final VirtualRuntime virtual = VirtualRuntime.inOrder(1);
  private final PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(1000).build();
  private final PoolActor pool =
      new PoolActor(config, PoolFixtures.identity(config.format()), virtual, Memory.HEAP, 0);

  private <T> CompletableFuture<T> settled(CompletionStage<T> stage) {
    virtual.runUntilIdle();
    assertThat(stage.toCompletableFuture()).isDone();
    return stage.toCompletableFuture();
  }

  @Test
  void aTailThatFailsAtSequence4AbortsThereAndTheRetrysSnapshotCarries4AndCoversIt() {
    PoolSnapshot first = settled(pool.subscribe(LEASE_1)).join();
    for (long local = 1; local <= 4; local++) {
      pool.admit(store(A, local).build(), 9);
      assertThat(settled(pool.flush()).join()).isEqualTo(local);
    }
    pool.admit(store(A, 5).build(), 9);
    virtual.runUntilIdle();
    first.deltas().close();

    assertThat(settled(pool.subscribe(LEASE_2))).isCompletedExceptionally();
    assertThat(pool.publisher().lastSequence()).isEqualTo(4);
    PoolSnapshot retried = settled(pool.subscribe(LEASE_2)).join();

    assertThat(retried.sequence()).isEqualTo(4);
    assertThat(retried.words()).isEqualTo(pool.state().copyWords());
    assertThat(pool.state().isResident(5)).isTrue();
    assertThat(retried.deltas().poll()).isNull();
    pool.admit(store(A, 6).build(), 9);
    assertThat(settled(pool.flush()).join()).isEqualTo(5);
    assertThat(retried.deltas().poll().baseSequence()).isEqualTo(4);
  }
}
