package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.BUCKETS;
import static io.kvrelay.engine.view.LaneFixtures.CONSUMER;
import static io.kvrelay.engine.view.LaneFixtures.delta;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.lease;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static io.kvrelay.engine.view.LaneFixtures.words;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LaneIngestorTest {
  private static final int LANE = 3;

  private final LaneIndex index = new LaneIndex(manifest(4));
  private final LaneIngestor ingestor = index.claimLane(LANE);

  private IngestResult install(long epoch, long sequence, long[] words) {
    return LaneFixtures.install(
        ingestor,
        index.table(),
        identity(LANE),
        lease(LANE, epoch),
        sequence,
        words,
        LaneIngestor.ALWAYS);
  }

  private void readyAt(long sequence) {
    ingestor.assign(identity(LANE), lease(LANE, 1));
    assertThat(install(1, sequence, words(0))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
  }

  private IngestResult apply(long base, long sequence, long... images) {
    return ingestor.applyDelta(delta(LANE, 1, base, sequence, images));
  }

  private void assertDeactivated(IngestResult result, LaneFault fault, FailurePoint point) {
    assertThat(result).isEqualTo(IngestResult.LANE_DEACTIVATED);
    assertThat(ingestor.fault()).isEqualTo(fault);
    assertThat(ingestor.disposition()).isEqualTo(point);
    assertThat(index.readyLanes()).isZero();
    assertThatThrownBy(ingestor::installedSequence).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anInstalledSnapshotMakesExactlyItsLaneReady() {
    readyAt(7);
    assertThat(index.readyLanes()).isEqualTo(1 << LANE);
    assertThat(ingestor.installedSequence()).isEqualTo(7);
    ingestor.assign(identity(LANE), lease(LANE, 2));
    assertThat(index.readyLanes()).isZero();
  }

  @Test
  void everySequenceIsAcceptedWhileNotReady() {
    ingestor.assign(identity(LANE), lease(LANE, 0));
    assertThat(install(0, 0, words(1))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    ingestor.assign(identity(LANE), lease(LANE, 1));
    assertThat(install(1, -1, words(1))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(ingestor.installedSequence()).isEqualTo(-1);
  }

  @Test
  void aContiguousDeltaIsStored() {
    readyAt(7);
    assertThat(apply(7, 8, 5, 42, 2, 0, 127, -1)).isEqualTo(IngestResult.DELTA_APPLIED);
    assertThat(ingestor.installedSequence()).isEqualTo(8);
    assertThat(index.table().get(5, LANE)).isEqualTo(42);
    assertThat(index.table().get(127, LANE)).isEqualTo(-1);
    assertThat(index.table().copyColumn(LANE - 1)).containsOnly(0);
  }

  @Test
  void anOlderSnapshotOfAReadyLaneIsIgnored() {
    readyAt(7);
    apply(7, 8, 5, 42);
    assertThat(install(1, 7, words(9))).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(install(1, 8, new long[1])).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(index.table().get(5, LANE)).isEqualTo(42);
    assertThat(index.isReady(LANE)).isTrue();
  }

  @Test
  void aSnapshotAheadOfAReadyLaneDeactivatesItWithoutAWrite() {
    readyAt(7);
    assertDeactivated(
        install(1, 8, words(9)),
        new LaneFault.SnapshotWhileReady(7, 8),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
  }

  @Test
  void staleDeltasAreIgnoredWithoutAWrite() {
    readyAt(4);
    assertThat(apply(3, 4, 0, 1)).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(apply(1, 2, 0, 1)).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(ingestor.outcome(IngestResult.IGNORED_STALE_OR_DUPLICATE).installedSequence())
        .isEqualTo(4);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
  }

  @Test
  void aGapDeactivatesTheLane() {
    readyAt(4);
    assertDeactivated(
        apply(5, 6, 0, 1),
        new LaneFault.BaseSequenceMismatch(4, 5),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertThat(ingestor.disposition().domain()).isEqualTo(FailurePoint.Domain.CONSUMER_LANE);
    assertThat(ingestor.disposition().commitState())
        .isEqualTo(FailurePoint.CommitState.KNOWN_UNCHANGED);
    assertThat(ingestor.disposition().action())
        .isEqualTo(FailurePoint.Action.DEACTIVATE_AND_SNAPSHOT);
    assertThat(apply(4, 5, 0, 1)).isEqualTo(IngestResult.AWAITING_SNAPSHOT);
  }

  @Test
  void aDeltaOverSeveralStepsDeactivatesTheLane() {
    readyAt(4);
    assertDeactivated(
        apply(4, 7, 0, 1),
        new LaneFault.NonContiguousSequence(4, 7),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  @Test
  void sequencesAreComparedUnsigned() {
    readyAt(Long.MAX_VALUE);
    assertThat(apply(Long.MAX_VALUE, Long.MIN_VALUE, 0, 1)).isEqualTo(IngestResult.DELTA_APPLIED);
    assertThat(apply(4, 5, 0, 1)).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
  }

  @Test
  void nothingFollowsTheLastSequence() {
    readyAt(-1);
    assertThat(apply(-1, 0, 0, 1)).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(apply(-1, -1, 0, 1)).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
  }

  @Test
  void aShortSnapshotBeforeTheLaneIsReadyMayBeRetriedOnItsLease() {
    ingestor.assign(identity(LANE), lease(LANE, 1));
    assertDeactivated(
        install(1, 4, new long[BUCKETS - 1]),
        new LaneFault.InvalidSnapshotBucketCount(BUCKETS, BUCKETS - 1),
        FailurePoint.INACTIVE_SNAPSHOT_INSTALL_FAILURE);
    assertThat(ingestor.disposition().action()).isEqualTo(FailurePoint.Action.RETRY_SNAPSHOT);
    assertThat(install(1, 4, words(1))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(ingestor.disposition()).isNull();
  }

  @Test
  void aMalformedSnapshotOfAReadyLaneDeactivatesItBeforeAnyWrite() {
    readyAt(4);
    assertDeactivated(
        install(1, 5, new long[BUCKETS + 1]),
        new LaneFault.InvalidSnapshotBucketCount(BUCKETS, BUCKETS + 1),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
  }

  @Test
  void repeatedAndUnknownBucketsAreFoundBeforeAnyWrite() {
    readyAt(4);
    assertDeactivated(
        apply(4, 5, 0, 1, 3, 1, 0, 2),
        new LaneFault.DuplicateImageIndex(0),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
    assertThat(install(1, 9, words(0))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertDeactivated(
        apply(9, 10, 1, 1, 2, 2, BUCKETS, 3),
        new LaneFault.InvalidImageIndex(BUCKETS),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
    install(1, 9, words(0));
    assertDeactivated(
        apply(9, 10, -1, 1),
        new LaneFault.InvalidImageIndex(-1),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  @Test
  void theFirstWrongImageInListOrderIsReported() {
    readyAt(4);
    apply(4, 5, 7, 1, 3, 1, 7, 1, BUCKETS, 1);
    assertThat(ingestor.fault()).isEqualTo(new LaneFault.DuplicateImageIndex(7));
    install(1, 4, words(0));
    apply(4, 5, 7, 1, 3, 1, BUCKETS, 1, 7, 1);
    assertThat(ingestor.fault()).isEqualTo(new LaneFault.InvalidImageIndex(BUCKETS));
  }

  @Test
  void theDuplicateCheckAgreesWithASetOnRandomLists() {
    Random random = Seeds.random();
    LaneIngestor.DuplicateCheck check = new LaneIngestor.DuplicateCheck(256);
    for (int round = 0; round < 3_000; round++) {
      int[] list = new int[1 + random.nextInt(40)];
      int previous = -1;
      for (int i = 0; i < list.length; i++) {
        boolean ascend = random.nextInt(20) != 0;
        list[i] =
            ascend ? Math.min(300, previous + 1 + random.nextInt(8)) : random.nextInt(270) - 5;
        previous = list[i];
      }
      Set<Integer> seen = new HashSet<>();
      int expected = 0;
      while (expected < list.length
          && list[expected] >= 0
          && list[expected] < 256
          && seen.add(list[expected])) {
        expected++;
      }
      assertThat(check.firstWrong(list, list.length)).isEqualTo(expected);
      assertThat(check.isClear()).isTrue();
    }
    int[] all = new int[256];
    for (int i = 0; i < all.length; i++) {
      all[i] = 255 - i;
    }
    assertThat(check.firstWrong(all, all.length)).isEqualTo(all.length);
  }

  @Test
  void anEmptyDeltaIsMalformed() {
    readyAt(4);
    assertDeactivated(
        apply(4, 5), new LaneFault.EmptyDelta(5), FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  @Test
  void anotherProducerUnderTheCurrentLeaseDeactivates() {
    ProducerIdentity other = identity(LANE, 2);
    readyAt(4);
    assertDeactivated(
        ingestor.applyDelta(delta(other, lease(LANE, 1), 4, 5, 0, 1)),
        new LaneFault.WrongIdentity(identity(LANE), other),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertDeactivated(
        ingestor.applyDelta(delta(other, lease(LANE, 1), 4, 5, 0, 1)),
        new LaneFault.WrongIdentity(identity(LANE), other),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertDeactivated(
        LaneFixtures.install(
            ingestor, index.table(), other, lease(LANE, 1), 9, words(9), LaneIngestor.ALWAYS),
        new LaneFault.WrongIdentity(identity(LANE), other),
        FailurePoint.INACTIVE_SNAPSHOT_INSTALL_FAILURE);
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
    readyAgain();
    assertDeactivated(
        LaneFixtures.install(
            ingestor, index.table(), other, lease(LANE, 1), 1, words(9), LaneIngestor.ALWAYS),
        new LaneFault.WrongIdentity(identity(LANE), other),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  private void readyAgain() {
    assertThat(install(1, 4, words(0))).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
  }

  @Test
  void aSupersededLeaseIsIgnored() {
    readyAt(4);
    ingestor.assign(identity(LANE), lease(LANE, 2));
    install(2, 10, words(5));
    assertThat(apply(4, 5, 0, 1)).isEqualTo(IngestResult.IGNORED_FOREIGN_LEASE);
    assertThat(install(1, 11, words(6))).isEqualTo(IngestResult.IGNORED_FOREIGN_LEASE);
    assertThat(ingestor.drain(lease(LANE, 1), 10)).isEqualTo(IngestResult.IGNORED_FOREIGN_LEASE);
    assertThat(ingestor.installedSequence()).isEqualTo(10);
    assertThat(index.table().copyColumn(LANE)).containsOnly(5);
    ingestor.retire();
    assertThat(ingestor.drain(lease(LANE, 2), 10)).isEqualTo(IngestResult.IGNORED_FOREIGN_LEASE);
  }

  @Test
  void aDrainIsAcknowledgedOnlyAtExactlyItsSequence() {
    readyAt(7);
    assertThat(ingestor.drain(lease(LANE, 1), 7)).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
    assertThat(index.isReady(LANE)).isTrue();
    assertDeactivated(
        ingestor.drain(lease(LANE, 1), 8),
        new LaneFault.TerminalSequenceMismatch(8, 7L),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
    assertDeactivated(
        ingestor.drain(lease(LANE, 1), 7),
        new LaneFault.TerminalSequenceMismatch(7, null),
        FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  @Test
  void anEpochIsTakenOnceEvenAfterRetirement() {
    ingestor.assign(identity(LANE), lease(LANE, 0));
    ingestor.assign(identity(LANE), lease(LANE, 1));
    assertThat(errorOf(() -> ingestor.assign(identity(LANE), lease(LANE, 1))))
        .isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    ingestor.retire();
    assertThat(errorOf(() -> ingestor.assign(identity(LANE), lease(LANE, 1))))
        .isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    ingestor.assign(identity(LANE), lease(LANE, -1));
    assertThat(errorOf(() -> ingestor.assign(identity(LANE), lease(LANE, 2))))
        .isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
  }

  @Test
  void aRefusedAssignmentChangesNothingAndTheFirstWrongPartIsNamed() {
    readyAt(4);
    ProducerIdentity foreign = new ProducerIdentity(pool(99), 1, 1, new CkfFormat(1, 2));
    ProducerIdentity otherFormat =
        new ProducerIdentity(pool(LANE + 1L), 1, 1, new CkfFormat(1, BUCKETS));
    assertThat(errorOf(() -> ingestor.assign(foreign, new LaneLease(CONSUMER + 1, 0, 0))))
        .isEqualTo(LaneError.WRONG_CONSUMER_INSTANCE);
    assertThat(errorOf(() -> ingestor.assign(foreign, lease(0, 0))))
        .isEqualTo(LaneError.WRONG_PHYSICAL_LANE);
    assertThat(errorOf(() -> ingestor.assign(foreign, lease(LANE, 0))))
        .isEqualTo(LaneError.WRONG_LANE_OWNER);
    assertThat(errorOf(() -> ingestor.assign(otherFormat, lease(LANE, 0))))
        .isEqualTo(LaneError.WRONG_FORMAT);
    assertThat(errorOf(() -> ingestor.assign(identity(LANE), lease(LANE, 1))))
        .isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    assertThat(index.isReady(LANE)).isTrue();
    assertThat(ingestor.installedSequence()).isEqualTo(4);
  }

  @Test
  void aGuardThatRefusesLeavesTheLaneUnreadable() {
    ingestor.assign(identity(LANE), lease(LANE, 1));
    assertThat(
            LaneFixtures.install(
                ingestor,
                index.table(),
                identity(LANE),
                lease(LANE, 1),
                4,
                words(8),
                publish -> false))
        .isEqualTo(IngestResult.AWAITING_SNAPSHOT);
    assertThat(index.readyLanes()).isZero();
    assertThat(index.table().copyColumn(LANE)).containsOnly(8);
  }

  @Test
  void retirementLeavesTheWordsForTheNextSnapshotToOverwrite() {
    readyAt(4);
    apply(4, 5, 9, 77);
    ingestor.retire();
    assertThat(index.table().get(9, LANE)).isEqualTo(77);
    ingestor.assign(identity(LANE), lease(LANE, 2));
    install(2, 0, words(0));
    assertThat(index.table().copyColumn(LANE)).containsOnly(0);
  }

  @Test
  void applyingADeltaAllocatesNothing() {
    readyAt(0);
    LaneDelta[] deltas = new LaneDelta[5 * 400];
    for (int i = 0; i < deltas.length; i++) {
      long shift = i % 60;
      deltas[i] = delta(LANE, 1, i, i + 1L, 100, 1, shift, 2, 64 + shift % 30, 3);
    }
    int[] next = {0};
    long bytes =
        Allocations.bytes(
            deltas.length / 5,
            () -> {
              if (ingestor.applyDelta(deltas[next[0]++]) != IngestResult.DELTA_APPLIED) {
                throw new AssertionError(ingestor.fault());
              }
            });
    assertThat(bytes).isZero();
  }

  @Test
  void dispositionsTouchOnlyTheDomainThatNeedsRecovery() {
    for (FailurePoint point : FailurePoint.values()) {
      boolean lane = point.domain() == FailurePoint.Domain.CONSUMER_LANE;
      if (lane) {
        assertThat(point.recoveryDomain()).isEqualTo(FailurePoint.RecoveryDomain.CONSUMER_LANE);
        assertThat(point.laneKeepsLease())
            .isEqualTo(point == FailurePoint.INACTIVE_SNAPSHOT_INSTALL_FAILURE);
      } else {
        assertThat(point.recoveryDomain()).isNotEqualTo(FailurePoint.RecoveryDomain.CONSUMER_LANE);
        assertThatThrownBy(point::laneKeepsLease).isInstanceOf(IllegalStateException.class);
      }
      assertThat(point.commitState() == FailurePoint.CommitState.UNCERTAIN)
          .isEqualTo(point == FailurePoint.WORKER_FAILURE_MID_APPLY);
    }
    assertThat(FailurePoint.BOUNDED_RELOCATION_FAILURE.action())
        .isNotEqualTo(FailurePoint.PRECOMMIT_ALLOCATION_FAILURE.action());
  }
}
