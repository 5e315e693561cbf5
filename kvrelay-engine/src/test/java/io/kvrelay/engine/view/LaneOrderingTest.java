package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.BUCKETS;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static io.kvrelay.engine.view.LaneFixtures.words;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;

/**
 * Writers, readers, retirements and new assignments on real threads. Every word a lane ever gets is
 * its writer's next higher number, so a reader can tell how old what it sees may be: a reader that
 * finds a lane ready sees nothing older than the last snapshot whose installation was reported
 * before it looked.
 */
class LaneOrderingTest {
  private static final int LANES = 3;
  private static final int ROUNDS = Integer.getInteger("kvrelay.history.rounds", 300);

  private final LaneIndex index = new LaneIndex(manifest(LANES));
  private final AtomicLongArray published = new AtomicLongArray(LANES);
  private final AtomicBoolean done = new AtomicBoolean();
  private final ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();

  @Test
  void whoSeesALaneReadySeesItsWholeSnapshot() throws InterruptedException {
    Random seeds = Seeds.random();
    try (SystemRuntime runtime = SystemRuntime.create(2)) {
      IngestionConfig config =
          IngestionConfig.DEFAULT.withWorkers(2).withMaxDirtyToAppliedAge(Duration.ofSeconds(60));
      IngestionPool pool = new IngestionPool(index, config, runtime, new ViewCounters());
      List<Thread> writers = new ArrayList<>();
      for (int lane = 0; lane < LANES; lane++) {
        int mine = lane;
        long seed = seeds.nextLong();
        writers.add(new Thread(() -> write(pool, mine, new Random(seed))));
      }
      List<Thread> readers = List.of(new Thread(this::read), new Thread(this::search));
      readers.forEach(Thread::start);
      writers.forEach(Thread::start);
      for (Thread writer : writers) {
        writer.join();
      }
      done.set(true);
      for (Thread reader : readers) {
        reader.join();
      }
      pool.shutDown().toCompletableFuture().join();
      assertThat(violations).isEmpty();
      assertThat(pool.counters().snapshotsInstalled()).isEqualTo((long) LANES * ROUNDS);
      assertThat(pool.counters().deltasApplied()).isPositive();
    }
  }

  private void write(IngestionPool pool, int lane, Random random) {
    long value = 0;
    for (int round = 0; round < ROUNDS; round++) {
      LaneLease lease = pool.nextLease(lane);
      pool.assign(identity(lane), lease, LaneListener.NONE).toCompletableFuture().join();
      value++;
      IngestOutcome installed =
          pool.installSnapshot(identity(lane), lease, 0, words(value)).toCompletableFuture().join();
      if (installed.result() != IngestResult.SNAPSHOT_INSTALLED) {
        violations.add("lane " + lane + ": " + installed);
      }
      published.set(lane, value);
      int deltas = random.nextInt(4);
      for (int i = 0; i < deltas; i++) {
        value++;
        int bucket = random.nextInt(BUCKETS);
        pool.submitDelta(LaneFixtures.delta(identity(lane), lease, i, i + 1L, bucket, value));
      }
      if (random.nextBoolean()) {
        // A gap: the lane retires itself. Otherwise the next assignment ends the generation.
        pool.submitDelta(LaneFixtures.delta(identity(lane), lease, 99, 100, 0, value));
      }
    }
  }

  private void read() {
    while (!done.get()) {
      for (int lane = 0; lane < LANES; lane++) {
        long atLeast = published.get(lane);
        if (index.isReady(lane)) {
          for (int bucket = 0; bucket < BUCKETS; bucket++) {
            long word = index.table().get(bucket, lane);
            if (word < atLeast) {
              violations.add("lane " + lane + ": " + word + " < " + atLeast);
            }
          }
        }
      }
    }
  }

  private void search() {
    PrefixQuery query = new PrefixQuery(index, PrefixQuery.DEFAULT_WINDOW);
    long[] prompt = new Random(1).longs(100).toArray();
    while (!done.get()) {
      if (query.searchLocals(index, prompt, 0, prompt.length)
          && (query.capturedLanes() & ~index.manifest().configuredLanes()) != 0) {
        violations.add("an unconfigured lane answered");
      }
    }
  }
}
