package io.kvrelay.engine.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolPeek;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.RankReplacement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real threads: workers publish at once, one rank cannot be admitted, and nobody waits for it. */
class IngestConcurrencyTest {
  private static final int RANKS = 8;
  private static final int BATCHES = 4000;
  private static final Member SLOW = new Member(0, 0);

  /** Admissions of one rank wait until they are let go. */
  private static final class HoldingPool implements PoolPort {
    private final PoolPort pool;
    private final CompletableFuture<Void> gate = new CompletableFuture<>();

    private HoldingPool(PoolPort pool) {
      this.pool = pool;
    }

    @Override
    public CompletionStage<Void> admit(KvEvent event, long publisherId) {
      return event.member().equals(SLOW) && !gate.isDone()
          ? gate.thenCompose(open -> pool.admit(event, publisherId))
          : pool.admit(event, publisherId);
    }

    @Override
    public CompletionStage<Void> resetRank(Member member) {
      return pool.resetRank(member);
    }

    @Override
    public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
      return pool.replaceRanks(replacements);
    }
  }

  /** users' ask J1, J2. */
  @Test
  @Timeout(60)
  void publishersNeverWaitAndASlowRankLosesOnlyItsOwnBatches() throws Exception {
    try (SystemRuntime runtime = SystemRuntime.create(3)) {
      InMemoryEventSource source = new InMemoryEventSource(runtime, 256);
      List<InMemoryEventSource.Rank> ranks = new ArrayList<>();
      List<RandomWorker> workers = new ArrayList<>();
      TreeMap<Member, RankSource> view = new TreeMap<>();
      for (int i = 0; i < RANKS; i++) {
        Member member = new Member(i, 0);
        ranks.add(source.start(IngestRig.ENDPOINT, member, true));
        workers.add(new RandomWorker(new Random(i), member));
        view.put(member, RankSource.of(ranks.get(i).advertisement()));
      }
      PoolActor pool = IngestRig.pool(runtime);
      HoldingPool holding = new HoldingPool(PoolPort.of(pool));
      // Room for all that a rank publishes, but for the slow one's: it is filled once over.
      IngestConfig config = IngestConfig.builder().inboxBatches(BATCHES).build();
      PoolIngest ingest =
          PoolIngest.start(
              new EndpointSources(IngestRig.ENDPOINT, IngestRig.ENDPOINT, view),
              holding,
              source,
              new RecoveryPermits(RecoveryPermits.DEFAULT),
              config,
              runtime,
              reason -> {
                throw new AssertionError(reason);
              });
      until(() -> ingest.ranks().stream().filter(r -> r.cursor().isPresent()).count() == RANKS);

      publish(ranks, workers);
      // The publishers are through, though the slow rank has admitted nothing.
      for (int i = 0; i < 20 && ingest.statistics().of(IngestCount.OVERFLOWED_BATCHES) == 0; i++) {
        for (int batch = 0; batch < BATCHES / 10; batch++) {
          ranks.get(0).publish(workers.get(0).next(1));
        }
      }
      assertThat(ingest.statistics().of(IngestCount.OVERFLOWED_BATCHES)).isPositive();
      until(() -> quiet(ingest, workers, 1));
      assertThat(ingest.ranks().get(0).cursor()).hasValue(0);

      holding.gate.complete(null);
      until(() -> quiet(ingest, workers, 0));
      pool.flush().toCompletableFuture().get(30, TimeUnit.SECONDS);
      for (int i = 0; i < RANKS; i++) {
        PoolState state = PoolPeek.state(pool); // nothing is under way any more
        assertThat(state.mappingCount(ranks.get(i).member()))
            .isEqualTo(workers.get(i).blocks().size());
      }
      assertThat(ingest.statistics().of(IngestCount.GAPS)).as("on no other rank").isLessThan(2);
      ingest.stop().toCompletableFuture().get(30, TimeUnit.SECONDS);
      pool.fence("over");
    }
  }

  private static void publish(List<InMemoryEventSource.Rank> ranks, List<RandomWorker> workers)
      throws Exception {
    CountDownLatch done = new CountDownLatch(RANKS);
    for (int i = 0; i < RANKS; i++) {
      int mine = i;
      Thread thread =
          new Thread(
              () -> {
                for (int batch = 0; batch < BATCHES; batch++) {
                  ranks.get(mine).publish(workers.get(mine).next(1));
                }
                done.countDown();
              });
      thread.setDaemon(true);
      thread.start();
    }
    assertThat(done.await(30, TimeUnit.SECONDS)).as("no publisher waits").isTrue();
  }

  private static boolean quiet(PoolIngest ingest, List<RandomWorker> workers, int from) {
    List<RankStatus> ranks = ingest.ranks();
    for (int i = from; i < RANKS; i++) {
      RankStatus rank = ranks.get(i);
      if (rank.cursor().orElse(-1) != workers.get(i).lastId()
          || rank.trust() != SourceTrust.EXACT) {
        return false;
      }
    }
    return true;
  }

  private static void until(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {

      LockSupport.parkNanos(1_000_000);
    }
  }
}
