package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.ForwardingRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A full mailbox over an executor that rejects the pool's turns. */
@Timeout(30)
class PoolAdmissionTest {
  private static final PoolConfig CONFIG = PoolConfig.builder().expectedUniqueBlocks(1000).build();

  private final FullExecutor executor = new FullExecutor();
  private final PoolActor pool =
      new PoolActor(CONFIG, PoolFixtures.identity(CONFIG.format()), executor);

  @Test
  void whoWaitsForAFullMailboxIsAdmittedOnceTheExecutorTakesTasksAgain() throws Exception {
    fillMailbox();
    CompletableFuture<Void> waiting = admitBlocking();

    executor.rejecting = false;

    waiting.get(20, TimeUnit.SECONDS);
    assertThat(pool.statistics().appliedEvents()).isPositive();
  }

  @Test
  void whoWaitsForAFullMailboxOfAStoppedExecutorIsToldOfTheFence() {
    fillMailbox();
    CompletableFuture<Void> waiting = admitBlocking();
    pool.fence("on purpose");
    assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS))
        .hasCauseInstanceOf(RelayException.class)
        .hasMessageContaining("on purpose");
  }

  @Test
  void whoWaitsForAFullMailboxOfAStoppedExecutorIsToldOfTheShutdown() {
    fillMailbox();
    CompletableFuture<Void> waiting = admitBlocking();
    assertThat(pool.shutdown()).isNotNull();
    assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS))
        .hasCauseInstanceOf(RelayException.class);
  }

  private void fillMailbox() {
    for (int i = 0; i < AdmissionGate.COMMANDS; i++) {
      pool.admit(PoolFixtures.store(PoolFixtures.A, 1).build(), 1);
    }
  }

  /** One more event, by a thread that has begun to wait. */
  private CompletableFuture<Void> admitBlocking() {
    CompletableFuture<Void> outcome = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                pool.admitBlocking(PoolFixtures.store(PoolFixtures.A, 2).build(), 1);
                outcome.complete(null);
              } catch (InterruptedException | RuntimeException e) {
                outcome.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    while (thread.getState() != Thread.State.TIMED_WAITING
        && thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    return outcome;
  }

  /** Real threads, and an executor that rejects everything while it is told to. */
  private static final class FullExecutor extends ForwardingRuntime {
    volatile boolean rejecting = true;

    FullExecutor() {
      super(VirtualRuntime.inOrder(1));
    }

    @Override
    public Executor executor() {
      return task -> {
        if (rejecting) {
          throw new RejectedExecutionException("on purpose");
        }
        new Thread(task).start();
      };
    }
  }
}
