package io.kvrelay.engine.view;

import java.util.concurrent.atomic.LongAdder;

/**
 * What an ingestion pool did and refused. Thread safe; counts only grow. What it refused is counted
 * for the view as well, whose counts outlive the table.
 */
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
  private final ViewCounters view;

  IngestionCounters(ViewCounters view) {
    this.view = view;
  }

  void snapshot(IngestResult result) {
    if (result == IngestResult.SNAPSHOT_INSTALLED) {
      snapshotsInstalled.increment();
    } else {
      snapshotsNotInstalled.increment();
      view.increment(ViewCounter.FILTER_SNAPSHOTS_REFUSED);
    }
  }

  void delta(IngestResult result, int images) {
    if (result == IngestResult.DELTA_APPLIED) {
      deltasApplied.increment();
      imagesApplied.add(images);
    } else {
      deltasIgnored.increment();
      view.increment(ViewCounter.FILTER_DELTAS_IGNORED);
    }
  }

  void droppedDelta() {
    deltasDropped.increment();
    view.increment(ViewCounter.FILTER_DELTAS_DROPPED);
  }

  void refusedDelta() {
    deltasRefused.increment();
    view.increment(ViewCounter.FILTER_DELTAS_REFUSED);
  }

  void deactivatedLane() {
    lanesDeactivated.increment();
  }

  void fault() {
    faults.increment();
    view.increment(ViewCounter.LANE_FAULTS);
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
