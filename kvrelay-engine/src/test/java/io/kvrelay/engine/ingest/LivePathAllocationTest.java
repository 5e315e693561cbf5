package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.pool.RankReplacement;
import io.kvrelay.engine.testing.Allocations;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** What a live batch costs between the provider and the pool's mailbox, by itself. */
class LivePathAllocationTest {
  private static final int RUNS = 10_000;

  /** Admits at once and keeps nothing. */
  private static final class NoPool implements PoolPort {
    private final CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
    private long admitted;

    @Override
    public CompletionStage<Void> admit(KvEvent event, long publisherId) {
      admitted++;
      return done;
    }

    @Override
    public CompletionStage<Void> resetRank(Member member) {
      return done;
    }

    @Override
    public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
      return done;
    }
  }

  /** Runs tasks where they are submitted, once {@code direct}. */
  private static final class Inline implements RelayRuntime {
    private final VirtualRuntime time = VirtualRuntime.inOrder(1);

    @Override
    public long nanoTime() {
      return 0;
    }

    @Override
    public long currentTimeMillis() {
      return 0;
    }

    @Override
    public Executor executor() {
      return Runnable::run;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return time.schedule(delayNanos, task);
    }

    @Override
    public long randomLong() {
      return 0;
    }
  }

  @Test
  void aBatchCostsOneSmallObjectHoweverManyBlocksItHas() {
    Inline runtime = new Inline();
    NoPool pool = new NoPool();
    IngestRig.ScriptedEvents events = new IngestRig.ScriptedEvents();
    IngestRig rig = new IngestRig();
    PoolIngest ingest =
        PoolIngest.start(
            rig.with(IngestRig.liveOnly(A, 11)).view(),
            pool,
            events,
            new RecoveryPermits(1),
            IngestConfig.builder().build(),
            runtime,
            reason -> {});
    long[] blocks = new long[512];
    KvEventBatch[] batches = new KvEventBatch[RUNS * 6];
    for (int i = 0; i < batches.length; i++) {
      batches[i] = new KvEventBatch(11, List.of(KvEvent.stored(A, i + 1, blocks, blocks).build()));
    }
    int[] next = {0};
    long bytes = Allocations.bytes(RUNS, () -> events.listener.onBatch(batches[next[0]++]));
    System.out.println("live path: " + bytes / (double) RUNS + " bytes a batch");
    assertThat(pool.admitted).isEqualTo(next[0]);
    assertThat(bytes).isLessThanOrEqualTo(32L * RUNS);
    assertThat(ingest.statistics().of(IngestCount.ACCEPTED_BATCHES)).isEqualTo(next[0]);
    rig.close();
  }
}
