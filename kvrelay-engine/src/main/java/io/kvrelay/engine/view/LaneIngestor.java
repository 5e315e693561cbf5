package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The one writer of a lane. Checks every input in a fixed order, all of it before the first word is
 * written, and never buffers across a gap.
 *
 * <p>Not thread safe: one owner at a time. Nothing blocks, and applying a delta allocates nothing
 * unless the lane is deactivated.
 *
 * <p>Assigning, retiring and deactivating leave the words alone: they only keep queries away. The
 * next snapshot overwrites every bucket before the lane is published again, so no query that starts
 * on a ready lane sees a half-cleared one.
 */
final class LaneIngestor implements AutoCloseable {
  /**
   * Asked after a snapshot's words are stored. Runs {@code publish} if the lane may become ready,
   * within whatever excludes the lane's retirement.
   */
  @FunctionalInterface
  interface ActivationGuard {
    /** Whether {@code publish} was run. */
    boolean activate(Runnable publish);
  }

  /** A guard for an owner that nobody else can retire. */
  static final ActivationGuard ALWAYS =
      publish -> {
        publish.run();
        return true;
      };

  private final LaneIndex index;
  private final TransposedTable table;
  private final int lane;
  private final DuplicateCheck duplicates;

  private @Nullable ProducerIdentity identity;
  private @Nullable LaneLease lease;
  private boolean hasEpoch;
  private long lastEpoch;
  private boolean ready;
  private long installed;
  private @Nullable LaneFault fault;
  private @Nullable FailurePoint disposition;
  private boolean closed;

  /** Called by {@link LaneIndex#claimLane} only. */
  LaneIngestor(LaneIndex index, int lane) {
    this.index = index;
    this.table = index.table();
    this.lane = lane;
    this.duplicates = new DuplicateCheck(table.buckets());
  }

  int lane() {
    return lane;
  }

  /** Whether the owner holds the lane as ready; queries go by the index's mask. */
  boolean isReady() {
    return ready;
  }

  /**
   * The installed sequence.
   *
   * @throws IllegalStateException unless the lane is ready
   */
  long installedSequence() {
    if (!ready) {
      throw new IllegalStateException("lane = " + lane + ": not ready");
    }
    return installed;
  }

  /** What deactivated the lane last, or null once it was assigned, retired or installed. */
  @Nullable LaneFault fault() {
    return fault;
  }

  /** Where that failed. */
  @Nullable FailurePoint disposition() {
    return disposition;
  }

  /** The result with the lane's state, for whoever does not own the lane. */
  IngestOutcome outcome(IngestResult result) {
    boolean deactivated = result == IngestResult.LANE_DEACTIVATED;
    return new IngestOutcome(
        result,
        ready ? installed : 0,
        deactivated ? fault : null,
        deactivated ? disposition : null);
  }

  /**
   * Binds the lane to one stream.
   *
   * @throws LaneException if lease or identity do not fit; nothing is changed then
   */
  void assign(ProducerIdentity newIdentity, LaneLease newLease) {
    checkAssignment(index.manifest(), lane, newIdentity, newLease, hasEpoch, lastEpoch);
    withdraw();
    identity = newIdentity;
    lease = newLease;
    hasEpoch = true;
    lastEpoch = newLease.assignmentEpoch();
    installed = 0;
    duplicates.clear();
  }

  /** The checks of an assignment, in their order. */
  static void checkAssignment(
      Manifest manifest,
      int lane,
      ProducerIdentity identity,
      LaneLease lease,
      boolean hasEpoch,
      long lastEpoch) {
    if (lease.consumerInstance() != manifest.consumerInstance()) {
      throw new LaneException(
          LaneError.WRONG_CONSUMER_INSTANCE,
          "consumerInstance = "
              + Long.toUnsignedString(lease.consumerInstance())
              + ": must be "
              + Long.toUnsignedString(manifest.consumerInstance()));
    }
    if (lease.physicalLane() != lane) {
      throw new LaneException(
          LaneError.WRONG_PHYSICAL_LANE,
          "physicalLane = " + lease.physicalLane() + ": must be " + lane);
    }
    if (!manifest.isConfigured(lane) || !manifest.pool(lane).equals(identity.poolId())) {
      throw new LaneException(
          LaneError.WRONG_LANE_OWNER,
          "lane = " + lane + ": does not stand for pool " + identity.poolId());
    }
    if (!identity.format().equals(manifest.format())) {
      throw new LaneException(
          LaneError.WRONG_FORMAT,
          "format = " + identity.format() + ": must be " + manifest.format());
    }
    if (hasEpoch && Long.compareUnsigned(lease.assignmentEpoch(), lastEpoch) <= 0) {
      throw new LaneException(
          LaneError.STALE_ASSIGNMENT_EPOCH,
          "assignmentEpoch = "
              + Long.toUnsignedString(lease.assignmentEpoch())
              + ": must be above "
              + Long.toUnsignedString(lastEpoch));
    }
  }

  /** Whether an epoch is known that later leases must be above. */
  boolean hasEpoch() {
    return hasEpoch;
  }

  long lastEpoch() {
    return lastEpoch;
  }

  /** Takes over the epochs of a lane's former owner. */
  void continueAfter(long epoch) {
    hasEpoch = true;
    lastEpoch = epoch;
  }

  /** Ends the assignment. Its epoch stays refused. */
  void retire() {
    withdraw();
    identity = null;
    lease = null;
    installed = 0;
  }

  private void withdraw() {
    fault = null;
    disposition = null;
    ready = false;
    index.withdraw(lane);
  }

  /**
   * The first step of installing a full image: all its checks. The lane's words may be stored after
   * it, and {@link #activate} is the last step.
   *
   * @param words one word for each bucket
   * @return why the snapshot is not installed; null if it may be
   */
  @Nullable IngestResult beginSnapshot(
      ProducerIdentity from, LaneLease under, long sequence, long[] words) {
    if (isForeign(under)) {
      return IngestResult.IGNORED_FOREIGN_LEASE;
    }
    FailurePoint point =
        ready
            ? FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE
            : FailurePoint.INACTIVE_SNAPSHOT_INSTALL_FAILURE;
    if (!from.equals(identity)) {
      return deactivate(wrongIdentity(from), point);
    }
    if (ready && Long.compareUnsigned(sequence, installed) <= 0) {
      return IngestResult.IGNORED_STALE_OR_DUPLICATE;
    }
    if (words.length != table.buckets()) {
      return deactivate(
          new LaneFault.InvalidSnapshotBucketCount(table.buckets(), words.length), point);
    }
    if (ready) {
      return deactivate(new LaneFault.SnapshotWhileReady(installed, sequence), point);
    }
    index.withdraw(lane);
    return null;
  }

  /**
   * The last step: the words of a snapshot that {@link #beginSnapshot} let pass are in the table.
   */
  IngestResult activate(long sequence, ActivationGuard guard) {
    return guard.activate(() -> publish(sequence))
        ? IngestResult.SNAPSHOT_INSTALLED
        : IngestResult.AWAITING_SNAPSHOT;
  }

  private void publish(long sequence) {
    installed = sequence;
    ready = true;
    fault = null;
    disposition = null;
    index.publish(lane);
  }

  /** Applies the images of one step. */
  IngestResult applyDelta(LaneDelta delta) {
    if (isForeign(delta.lease())) {
      return IngestResult.IGNORED_FOREIGN_LEASE;
    }
    if (!delta.identity().equals(identity)) {
      return malformed(wrongIdentity(delta.identity()));
    }
    if (!ready) {
      return IngestResult.AWAITING_SNAPSHOT;
    }
    if (Long.compareUnsigned(delta.sequence(), installed) <= 0) {
      return IngestResult.IGNORED_STALE_OR_DUPLICATE;
    }
    LaneFault wrong = checkSequence(delta);
    if (wrong == null) {
      wrong = checkImages(delta);
    }
    if (wrong != null) {
      return malformed(wrong);
    }
    table.storeImages(lane, delta.buckets(), delta.words(), delta.images());
    installed = delta.sequence();
    return IngestResult.DELTA_APPLIED;
  }

  private @Nullable LaneFault checkSequence(LaneDelta delta) {
    long base = delta.baseSequence();
    if (base != installed) {
      return new LaneFault.BaseSequenceMismatch(installed, base);
    }
    if (base == -1) { // a guard: nothing above 2^64 - 1 passes the check for stale deltas
      return new LaneFault.SequenceExhausted(base);
    }
    return delta.sequence() == base + 1
        ? null
        : new LaneFault.NonContiguousSequence(base, delta.sequence());
  }

  private @Nullable LaneFault checkImages(LaneDelta delta) {
    int images = delta.images();
    if (images == 0) {
      return new LaneFault.EmptyDelta(delta.sequence());
    }
    int wrong = duplicates.firstWrong(delta.buckets(), images);
    if (wrong == images) {
      return null;
    }
    int bucket = delta.buckets()[wrong];
    return bucket < 0 || bucket >= table.buckets()
        ? new LaneFault.InvalidImageIndex(bucket)
        : new LaneFault.DuplicateImageIndex(bucket);
  }

  /** Asks for proof that exactly {@code expectedSequence} is installed. */
  IngestResult drain(LaneLease under, long expectedSequence) {
    if (isForeign(under)) {
      return IngestResult.IGNORED_FOREIGN_LEASE;
    }
    if (ready && installed == expectedSequence) {
      return IngestResult.DRAIN_ACKNOWLEDGED;
    }
    return malformed(
        new LaneFault.TerminalSequenceMismatch(expectedSequence, ready ? installed : null));
  }

  private IngestResult malformed(LaneFault wrong) {
    return deactivate(wrong, FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  /** Keeps queries away; assignment and lease stay. */
  IngestResult deactivate(LaneFault wrong, FailurePoint point) {
    withdraw();
    fault = wrong;
    disposition = point;
    return IngestResult.LANE_DEACTIVATED;
  }

  private boolean isForeign(LaneLease other) {
    return lease == null || !lease.equals(other);
  }

  private LaneFault wrongIdentity(ProducerIdentity actual) {
    return new LaneFault.WrongIdentity(Objects.requireNonNull(identity), actual);
  }

  /** Keeps queries away and lets go of the lane. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      retire();
      index.unclaim(lane);
    }
  }

  /**
   * Finds out-of-range and repeated buckets in a list, in list order. The memory is one bit per
   * bucket and a list of touched words of that bitmap, however long the list of buckets is.
   */
  static final class DuplicateCheck {
    private final int buckets;
    private final long[] seen;
    private final int[] touched;
    private int touchedWords;

    DuplicateCheck(int buckets) {
      this.buckets = buckets;
      this.seen = new long[(buckets + Long.SIZE - 1) / Long.SIZE];
      this.touched = new int[seen.length];
    }

    int bitmapWords() {
      return seen.length;
    }

    int touchedCapacity() {
      return touched.length;
    }

    /** Index of the first bucket that is out of range or was seen before; {@code count} if none. */
    int firstWrong(int[] list, int count) {
      int ascending = ascendingPrefix(list, count);
      if (ascending == count) {
        return count; // what ascends within the range repeats nothing
      }
      for (int i = 0; i < ascending; i++) {
        mark(list[i]);
      }
      int i = ascending;
      while (i < count && list[i] >= 0 && list[i] < buckets && mark(list[i])) {
        i++;
      }
      clear();
      return i;
    }

    private int ascendingPrefix(int[] list, int count) {
      int previous = -1;
      int i = 0;
      while (i < count && list[i] > previous && list[i] < buckets) {
        previous = list[i];
        i++;
      }
      return i;
    }

    private boolean mark(int bucket) {
      int word = bucket >>> 6;
      long before = seen[word];
      long after = before | 1L << bucket;
      if (before == 0) {
        touched[touchedWords++] = word;
      }
      seen[word] = after;
      return before != after;
    }

    void clear() {
      for (int i = 0; i < touchedWords; i++) {
        seen[touched[i]] = 0;
      }
      touchedWords = 0;
    }

    boolean isClear() {
      return touchedWords == 0 && Arrays.stream(seen).allMatch(word -> word == 0);
    }
  }
}
