package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.BUCKETS;
import static io.kvrelay.engine.view.LaneFixtures.delta;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Random histories of one pool in random interleavings: good and bad deltas, snapshots, drains,
 * failing workers, new leases. After each history a lane is either not ready, or holds exactly the
 * words that its accepted inputs give; and every lane can be brought back.
 */
class LaneHistoryTest {
  private static final int HISTORIES = Integer.getInteger("kvrelay.history.rounds", 300);
  private static final int LANES = 3;

  /** One producer's side of a lane. */
  private static final class Source {
    LaneLease lease;
    long sequence;
    long[] words = new long[BUCKETS];
    long[] seen = new long[BUCKETS];
    long seenSequence;

    void accept() {
      seen = words.clone();
      seenSequence = sequence;
    }
  }

  @Test
  void aReadyLaneHoldsExactlyWhatItsStreamGaveIt() {
    Random random = Seeds.random();
    for (int i = 0; i < HISTORIES; i++) {
      long seed = random.nextLong();
      try {
        history(new Random(seed));
      } catch (AssertionError e) {
        throw new AssertionError("history seed " + seed, e);
      }
    }
  }

  private static void history(Random random) {
    VirtualRuntime runtime = VirtualRuntime.shuffling(random.nextLong());
    LaneIndex index = new LaneIndex(manifest(LANES));
    boolean[] fail = {false};
    IngestProbe probe =
        new IngestProbe() {
          @Override
          public void beforeCommand(IngestCommand command) {
            if (fail[0]) {
              fail[0] = false;
              throw new IllegalStateException("a worker that fails on purpose");
            }
          }
        };
    java.util.logging.Logger.getLogger(IngestWorker.class.getName())
        .setLevel(java.util.logging.Level.OFF);
    IngestionConfig config =
        IngestionConfig.DEFAULT
            .withWorkers(4)
            .withQueueCapacity(1 + random.nextInt(6))
            .withMaxDirtyToAppliedAge(Duration.ofMillis(10));
    IngestionPool pool = new IngestionPool(index, config, runtime, probe);
    Source[] sources = new Source[LANES];
    for (int lane = 0; lane < LANES; lane++) {
      sources[lane] = new Source();
    }
    int failures = 0;
    for (int step = 0; step < 60; step++) {
      int lane = random.nextInt(LANES);
      switch (random.nextInt(12)) {
        case 0 -> open(pool, lane, sources[lane], random);
        case 1 -> fault(pool, lane, sources[lane], random);
        case 2 -> runtime.advance(Duration.ofMillis(random.nextInt(6)));
        case 3 -> {
          if (failures < 2) {
            failures++;
            fail[0] = true;
          }
        }
        case 4 -> runtime.runOne();
        case 5 -> runtime.runUntilIdle();
        default -> change(pool, lane, sources[lane], random);
      }
    }
    fail[0] = false;
    runtime.advance(Duration.ofSeconds(30));
    for (int lane = 0; lane < LANES; lane++) {
      assertConsistent(index, lane, sources[lane]);
    }
    recoverAll(pool, runtime, index, sources, random);
  }

  private static void open(IngestionPool pool, int lane, Source source, Random random) {
    LaneLease lease = pool.nextLease(lane);
    source.lease = lease;
    source.sequence = random.nextInt(5);
    for (int i = 0; i < BUCKETS; i++) {
      source.words[i] = random.nextLong();
    }
    source.accept();
    pool.assign(identity(lane), lease, LaneListener.NONE);
    pool.installSnapshot(identity(lane), lease, source.sequence, source.words.clone());
  }

  private static void change(IngestionPool pool, int lane, Source source, Random random) {
    if (source.lease == null) {
      return;
    }
    int bucket = random.nextInt(BUCKETS);
    long word = random.nextLong();
    LaneDelta next =
        delta(identity(lane), source.lease, source.sequence, source.sequence + 1, bucket, word);
    if (pool.submitDelta(next) == Admission.ADMITTED) {
      source.words[bucket] = word;
      source.sequence++;
      source.accept();
    }
  }

  private static void fault(IngestionPool pool, int lane, Source source, Random random) {
    if (source.lease == null) {
      return;
    }
    LaneLease lease = source.lease;
    long at = source.sequence;
    switch (random.nextInt(5)) {
      case 0 -> pool.submitDelta(delta(identity(lane), lease, at + 1, at + 2, 0, 1));
      case 1 -> pool.submitDelta(delta(identity(lane, 2), lease, at, at + 1, 0, 1));
      case 2 -> pool.submitDelta(delta(identity(lane), lease, at, at + 1, 5, 1, 5, 1));
      case 3 -> pool.completeDrain(lease, at + 1);
      default -> pool.submitDelta(delta(identity(lane), lease, at - 1, at, 0, 1)); // a repeat
    }
  }

  private static void assertConsistent(LaneIndex index, int lane, Source source) {
    if (index.isReady(lane)) {
      assertThat(index.table().copyColumn(lane))
          .as("lane %d at %d", lane, source.seenSequence)
          .isEqualTo(source.seen);
    }
  }

  private static void recoverAll(
      IngestionPool pool,
      VirtualRuntime runtime,
      LaneIndex index,
      Source[] sources,
      Random random) {
    for (int lane = 0; lane < LANES; lane++) {
      open(pool, lane, sources[lane], random);
      runtime.advance(Duration.ofSeconds(1));
    }
    for (int lane = 0; lane < LANES; lane++) {
      change(pool, lane, sources[lane], random);
      var drained = pool.completeDrain(sources[lane].lease, sources[lane].sequence);
      runtime.advance(Duration.ofSeconds(1));
      assertThat(LaneFixtures.now(drained).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
      assertThat(index.isReady(lane)).isTrue();
      assertConsistent(index, lane, sources[lane]);
    }
  }
}
