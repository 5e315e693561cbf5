package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.BUCKETS;
import static io.kvrelay.engine.view.LaneFixtures.CONSUMER;
import static io.kvrelay.engine.view.LaneFixtures.DOMAIN;
import static io.kvrelay.engine.view.LaneFixtures.FORMAT;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.lease;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static io.kvrelay.engine.view.LaneFixtures.words;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LaneIndexTest {

  @ParameterizedTest
  @CsvSource({"1,1", "2,2", "3,4", "4,4", "5,8", "9,16", "16,16", "17,32", "64,64"})
  void rowsAreAsWideAsTheLanesNeed(int lanes, int width) {
    TransposedTable table = new TransposedTable(8, lanes);
    assertThat(table.width()).isEqualTo(width);
    for (int bucket = 0; bucket < 8; bucket++) {
      for (int lane = 0; lane < lanes; lane++) {
        table.set(bucket, lane, bucket * 100L + lane + 1);
      }
    }
    for (int bucket = 0; bucket < 8; bucket++) {
      for (int lane = 0; lane < lanes; lane++) {
        assertThat(table.get(bucket, lane)).isEqualTo(bucket * 100L + lane + 1);
      }
    }
  }

  @Test
  void aColumnIsStoredAndCopiedWhole() {
    for (int buckets = 2; buckets <= 128; buckets *= 2) {
      TransposedTable table = new TransposedTable(buckets, 3);
      long[] column = new long[buckets];
      for (int i = 0; i < buckets; i++) {
        column[i] = i + 1L;
      }
      table.storeColumn(1, column);
      assertThat(table.copyColumn(1)).isEqualTo(column);
      assertThat(table.copyColumn(0)).containsOnly(0);
      assertThat(table.copyColumn(2)).containsOnly(0);
    }
  }

  @Test
  void aClaimThatFindsNoMemoryIsRolledBack() {
    LaneIndex index = new LaneIndex(manifest(1));
    assertThat(
            errorOf(
                () ->
                    index.claimLane(
                        0,
                        () -> {
                          throw new OutOfMemoryError("test");
                        })))
        .isEqualTo(LaneError.ALLOCATION_FAILED);
    assertThat(index.claimLane(0)).isNotNull();
  }

  @Test
  void scratchIsBoundedByBitmapWords() {
    LaneIngestor.DuplicateCheck check = new LaneIngestor.DuplicateCheck(2048);
    assertThat(check.bitmapWords()).isEqualTo(2048 / 64);
    assertThat(check.touchedCapacity()).isEqualTo(2048 / 64).isLessThan(2048);
    assertThat(new LaneIngestor.DuplicateCheck(2).bitmapWords()).isEqualTo(1);
  }

  @Test
  void aLaneHasOneOwnerUntilItIsClosed() {
    LaneIndex index = new LaneIndex(manifest(2));
    LaneIngestor first = index.claimLane(0);
    assertThat(errorOf(() -> index.claimLane(0))).isEqualTo(LaneError.LANE_ALREADY_CLAIMED);
    index.claimLane(1);
    first.close();
    LaneIngestor second = index.claimLane(0);
    first.close(); // a second time: must not take the lane from its new owner
    assertThat(errorOf(() -> index.claimLane(0))).isEqualTo(LaneError.LANE_ALREADY_CLAIMED);
    second.close();
  }

  @Test
  void onlyConfiguredLanesAreClaimed() {
    LaneIndex index = new LaneIndex(Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), null));
    assertThat(errorOf(() -> index.claimLane(1))).isEqualTo(LaneError.UNCONFIGURED_LANE);
    assertThat(errorOf(() -> index.claimLane(2))).isEqualTo(LaneError.INVALID_LANE);
    assertThat(errorOf(() -> index.claimLane(-1))).isEqualTo(LaneError.INVALID_LANE);
  }

  @Test
  void closingAnOwnerClearsReadinessFirst() {
    LaneIndex index = new LaneIndex(manifest(1));
    LaneIngestor ingestor = index.claimLane(0);
    ingestor.assign(identity(0), lease(0, 1));
    LaneFixtures.install(
        ingestor, index.table(), identity(0), lease(0, 1), 5, words(3), LaneIngestor.ALWAYS);
    assertThat(index.readyLanes()).isEqualTo(1);
    ingestor.close();
    assertThat(index.readyLanes()).isZero();
  }

  @Test
  void lanesAreBoundLowestFirstAndFreedForOthers() {
    LaneIndex index = new LaneIndex(Manifest.empty(CONSUMER, DOMAIN, FORMAT, 2));
    assertThat(index.bindLane(pool(1))).isZero();
    assertThat(index.bindLane(pool(2))).isEqualTo(1);
    assertThat(errorOf(() -> index.bindLane(pool(3)))).isEqualTo(LaneError.LANES_EXHAUSTED);
    index.releaseLane(0);
    assertThat(errorOf(() -> index.releaseLane(0))).isEqualTo(LaneError.UNCONFIGURED_LANE);
    assertThat(errorOf(() -> index.bindLane(pool(2)))).isEqualTo(LaneError.DUPLICATE_POOL);
    assertThat(index.bindLane(pool(3))).isZero();
  }

  @Test
  void anOwnedLaneIsNotFreed() {
    LaneIndex index = new LaneIndex(manifest(1));
    LaneIngestor owner = index.claimLane(0);
    assertThat(errorOf(() -> index.releaseLane(0))).isEqualTo(LaneError.LANE_ALREADY_CLAIMED);
    owner.close();
    index.releaseLane(0);
    assertThat(index.manifest().configuredLanes()).isZero();
  }

  @Test
  void aCaptureKeepsTheNamesItsMaskBelongsTo() {
    LaneIndex index = new LaneIndex(manifest(1));
    LaneIngestor owner = index.claimLane(0);
    owner.assign(identity(0), lease(0, 1));
    LaneFixtures.install(
        owner, index.table(), identity(0), lease(0, 1), 0, words(1), LaneIngestor.ALWAYS);
    LaneIndex.Capture before = index.capture();

    owner.close();
    index.releaseLane(0);
    index.bindLane(pool(9));

    assertThat(before.readyLanes()).isEqualTo(1);
    assertThat(before.manifest().pool(0)).isEqualTo(pool(1));
    assertThat(index.capture().readyLanes()).isZero();
    assertThat(index.capture().manifest().pool(0)).isEqualTo(pool(9));
  }

  @Test
  void aReboundLaneKeepsOldWordsUnreadableUntilItsSnapshot() {
    LaneIndex index = new LaneIndex(manifest(1));
    LaneIngestor owner = index.claimLane(0);
    owner.assign(identity(0), lease(0, 1));
    LaneFixtures.install(
        owner, index.table(), identity(0), lease(0, 1), 0, words(1), LaneIngestor.ALWAYS);
    owner.close();
    index.releaseLane(0);
    index.bindLane(pool(1));
    assertThat(index.table().get(BUCKETS - 1, 0)).isEqualTo(1);
    assertThat(index.readyLanes()).isZero();
  }
}
