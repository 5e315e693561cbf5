package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.delta;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.lease;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static io.kvrelay.engine.view.LaneFixtures.now;
import static io.kvrelay.engine.view.LaneFixtures.words;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SnapshotBatchTest {
  private static final int LANES = 6;

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final List<Integer> activations = new ArrayList<>();
  private final RecordedLog log = RecordedLog.of(IngestWorker.class);
  private final LaneIndex index = new LaneIndex(manifest(LANES));
  private IntConsumer beforeActivation = lane -> {};
  private final IngestionPool pool =
      new IngestionPool(
          index,
          IngestionConfig.DEFAULT.withWorkers(2),
          runtime,
          new IngestProbe() {
            @Override
            public void beforeActivation(int lane) {
              activations.add(lane);
              beforeActivation.accept(lane);
            }
          });

  /** The lanes of the worker that has most of them: they share a queue. */
  private int[] lanesOfOneWorker() {
    int[] lanes =
        IntStream.range(0, LANES)
            .filter(lane -> pool.workerForLane(lane) == pool.workerForLane(busiest()))
            .toArray();
    assertThat(lanes.length).isGreaterThanOrEqualTo(3);
    return lanes;
  }

  private int busiest() {
    int first = pool.workerForLane(0);
    long same = IntStream.range(0, LANES).filter(lane -> pool.workerForLane(lane) == first).count();
    if (2 * same >= LANES) {
      return 0;
    }
    int other = 1;
    while (pool.workerForLane(other) == first) {
      other++;
    }
    return other;
  }

  @AfterEach
  void closeTheLog() {
    log.close();
  }

  private void assign(int lane, long epoch) {
    pool.assign(identity(lane), lease(lane, epoch), LaneListener.NONE);
    runtime.runUntilIdle();
  }

  private CompletionStage<IngestOutcome> submit(int lane, long[] words) {
    return pool.installSnapshot(identity(lane), lease(lane, 1), 4, words);
  }

  private List<CompletionStage<IngestOutcome>> submitAll(int[] lanes) {
    List<CompletionStage<IngestOutcome>> answers = new ArrayList<>();
    for (int lane : lanes) {
      assign(lane, 1);
    }
    for (int lane : lanes) {
      answers.add(submit(lane, words(lane + 100)));
    }
    return answers;
  }

  private boolean isStored(int lane, long word) {
    return Arrays.stream(index.table().copyColumn(lane)).allMatch(each -> each == word);
  }

  @Test
  void snapshotsThatWaitOneBehindTheOtherAreStoredTogetherAndPublishedInOrder() {
    int[] lanes = lanesOfOneWorker();
    List<Boolean> allStored = new ArrayList<>();
    beforeActivation =
        lane -> allStored.add(Arrays.stream(lanes).allMatch(each -> isStored(each, each + 100)));
    List<CompletionStage<IngestOutcome>> answers = submitAll(lanes);
    runtime.runUntilIdle();
    assertThat(allStored).hasSize(lanes.length).containsOnly(true);
    assertThat(activations).containsExactlyElementsOf(Arrays.stream(lanes).boxed().toList());
    for (CompletionStage<IngestOutcome> answer : answers) {
      assertThat(now(answer).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    }
    for (int lane : lanes) {
      assertThat(index.isReady(lane)).isTrue();
    }
    assertThat(pool.counters().snapshotsInstalled()).isEqualTo(lanes.length);
  }

  @Test
  void aDeltaBetweenTwoSnapshotsKeepsItsPlace() {
    int[] lanes = lanesOfOneWorker();
    for (int lane : lanes) {
      assign(lane, 1);
    }
    submit(lanes[1], words(1));
    runtime.runUntilIdle();
    activations.clear();
    List<Long> seen = new ArrayList<>();
    beforeActivation =
        lane -> {
          seen.add(index.table().get(5, lanes[1]));
          seen.add(index.table().get(5, lanes[2]));
        };
    submit(lanes[0], words(100));
    pool.submitDelta(delta(lanes[1], 1, 4, 5, 5, 77));
    submit(lanes[2], words(102));
    runtime.runUntilIdle();
    assertThat(activations).containsExactly(lanes[0], lanes[2]);
    assertThat(seen).containsExactly(1L, 0L, 77L, 102L);
  }

  @Test
  void aSnapshotThatDoesNotFitIsRefusedAlone() {
    int[] lanes = lanesOfOneWorker();
    for (int lane : lanes) {
      assign(lane, 1);
    }
    CompletionStage<IngestOutcome> first = submit(lanes[0], words(1));
    CompletionStage<IngestOutcome> wrong = submit(lanes[1], new long[3]);
    CompletionStage<IngestOutcome> last = submit(lanes[2], words(3));
    runtime.runUntilIdle();
    assertThat(now(first).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(now(wrong).result()).isEqualTo(IngestResult.LANE_DEACTIVATED);
    assertThat(now(wrong).fault())
        .isEqualTo(new LaneFault.InvalidSnapshotBucketCount(LaneFixtures.BUCKETS, 3));
    assertThat(now(last).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(activations).containsExactly(lanes[0], lanes[2]);
    assertThat(isStored(lanes[1], 0)).isTrue();
    assertThat(index.isReady(lanes[1])).isFalse();
  }

  @Test
  void aLaneRetiredWhileOthersOfItsBatchArePublishedStaysUnreadable() {
    int[] lanes = lanesOfOneWorker();
    beforeActivation =
        lane -> {
          if (lane == lanes[0]) {
            pool.retire(lease(lanes[1], 1));
          }
        };
    List<CompletionStage<IngestOutcome>> answers = submitAll(lanes);
    runtime.runUntilIdle();
    assertThat(now(answers.get(0)).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(errorOf(answers.get(1))).isEqualTo(LaneError.LANE_RETIRED);
    assertThat(now(answers.get(2)).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(index.isReady(lanes[1])).isFalse();
    assertThat(index.isReady(lanes[2])).isTrue();
  }

  @Test
  void aWorkerThatFailsInABatchAnswersEverySnapshotOfIt() {
    int[] lanes = lanesOfOneWorker();
    beforeActivation =
        lane -> {
          if (lane == lanes[1]) {
            throw new IllegalStateException("test");
          }
        };
    List<CompletionStage<IngestOutcome>> answers = submitAll(lanes);
    runtime.runUntilIdle();
    assertThat(now(answers.get(0)).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    for (int i = 1; i < lanes.length; i++) {
      assertThat(errorOf(answers.get(i))).isEqualTo(LaneError.WORKER_FAILED);
    }
    assertThat(index.readyLanes()).isZero();
    assertThat(log.thrown()).hasSize(1).allMatch(IllegalStateException.class::isInstance);

    beforeActivation = lane -> {};
    for (int lane : lanes) {
      assign(lane, 2);
      pool.installSnapshot(identity(lane), lease(lane, 2), 9, words(9));
    }
    runtime.runUntilIdle();
    for (int lane : lanes) {
      assertThat(index.isReady(lane)).isTrue();
      assertThat(isStored(lane, 9)).isTrue();
    }
  }

  @Test
  void anyLanesInAnyOrderAndNumberAreStoredAsIfAlone() {
    Random random = Seeds.random();
    for (int round = 0; round < 60; round++) {
      int lanes = 1 + random.nextInt(64);
      int buckets = 2 << random.nextInt(12);
      TransposedTable alone = new TransposedTable(buckets, lanes);
      TransposedTable together = new TransposedTable(buckets, lanes);
      SnapshotBatch batch = new SnapshotBatch(together);
      List<Integer> order = new ArrayList<>(IntStream.range(0, lanes).boxed().toList());
      Collections.shuffle(order, random);
      for (int lane : order.subList(0, 1 + random.nextInt(lanes))) {
        long[] column = random.longs(buckets).toArray();
        alone.storeColumn(lane, column);
        batch.add(lane, column);
      }
      batch.store();
      assertThat(together.words()).as("round %d", round).isEqualTo(alone.words());
    }
  }
}
