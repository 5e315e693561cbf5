package io.kvrelay.engine.view;

import java.util.concurrent.atomic.LongAdder;

/** What an ingestion pool did and refused. Thread safe; counts only grow. */
final class IngestionCounters {
  private final LongAdder snapshotsInstalled = new LongAdder();
  private final LongAdder snapshotsNotInstalled = new LongAdder();
  private final LongAdder deltasApplied = new LongAdder();
  private final LongAdder imagesApplied = new LongAdder();
  private final LongAdder deltasIgnored = new LongAdder();
  private final LongAdder deltasDropped = new LongAdder();
  private final LongAdder deltasRefused = new LongAdder();
  private final LongAdder lanesDeactivated = new LongAdder();
  private final LongAdder faults = new LongAdder();

  void snapshot(IngestResult result) {
    (result == IngestResult.SNAPSHOT_INSTALLED ? snapshotsInstalled : snapshotsNotInstalled)
        .increment();
  }

  void delta(IngestResult result, int images) {
    if (result == IngestResult.DELTA_APPLIED) {
      deltasApplied.increment();
      imagesApplied.add(images);
    } else {
      deltasIgnored.increment();
    }
  }

  void droppedDelta() {
    deltasDropped.increment();
  }

  void refusedDelta() {
    deltasRefused.increment();
  }

  void deactivatedLane() {
    lanesDeactivated.increment();
  }

  void fault() {
    faults.increment();
  }

  long snapshotsInstalled() {
    return snapshotsInstalled.sum();
  }

  /** Snapshots that were ignored or refused. */
  long snapshotsNotInstalled() {
    return snapshotsNotInstalled.sum();
  }

  long deltasApplied() {
    return deltasApplied.sum();
  }

  long imagesApplied() {
    return imagesApplied.sum();
  }

  /** Deltas that reached their lane and were not applied: stale, foreign, early or faulty. */
  long deltasIgnored() {
    return deltasIgnored.sum();
  }

  /** Admitted deltas that were dropped because their lane generation or worker had ended. */
  long deltasDropped() {
    return deltasDropped.sum();
  }

  /** Deltas that were not admitted. */
  long deltasRefused() {
    return deltasRefused.sum();
  }

  /** Lanes deactivated by what they were given. */
  long lanesDeactivated() {
    return lanesDeactivated.sum();
  }

  /** Faults posted, read or not. */
  long faults() {
    return faults.sum();
  }
}
