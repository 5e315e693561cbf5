package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;

/** The four operations on a lane that have an answer. */
final class ControlCommands {
  private ControlCommands() {}

  private static void requireWorker(LaneAdmission lane) {
    if (lane.worker().isFailed()) {
      throw refusal(LaneError.WORKER_FAILED, lane);
    }
  }

  private static LaneException refusal(LaneError error, LaneAdmission lane) {
    return new LaneException(error, "lane = " + lane.lane() + ": " + error);
  }

  /** Starts a lane generation. */
  static final class Assign extends ControlCommand {
    private final ProducerIdentity identity;
    private final LaneLease lease;
    private final LaneListener newListener;

    Assign(
        IngestionPool pool,
        LaneAdmission admission,
        ProducerIdentity identity,
        LaneLease lease,
        LaneListener newListener) {
      super(pool, admission);
      this.identity = identity;
      this.lease = lease;
      this.newListener = newListener;
    }

    @Override
    void admit() {
      LaneAdmission admission = admission();
      IngestWorker worker = pool().livingWorker(admission.lane());
      if (worker == null) {
        throw refusal(LaneError.WORKER_FAILED, admission);
      }
      if (admission.isFenced()) {
        throw refusal(LaneError.ADMISSION_EPOCH_EXHAUSTED, admission);
      }
      admission.checkAssignment(identity, lease);
      if (!admission.beginAssignment(lease, newListener)) {
        throw refusal(LaneError.ADMISSION_EPOCH_EXHAUSTED, admission);
      }
      if (admission.worker().isFailed()) {
        admission.route(worker);
      }
    }

    @Override
    void execute(LaneIngestor ingestor, IngestProbe probe) {
      LaneException refused = null;
      try {
        ingestor.assign(identity, lease);
        probe.afterAssignment(ingestor.lane());
      } catch (LaneException e) {
        refused = e;
      }
      LaneAdmission admission = admission();
      boolean current;
      synchronized (admission) {
        current = admission.isAt(epoch);
        if (current && refused == null) {
          admission.assigned(lease);
        } else if (current) {
          admission.retire();
        }
      }
      if (refused != null) {
        fail(refused);
      } else if (current) {
        succeed(ingestor.outcome(IngestResult.AWAITING_SNAPSHOT));
      } else {
        fail(retired());
      }
    }
  }

  /** Installs a full image. */
  static final class Install extends ControlCommand {
    private final ProducerIdentity identity;
    private final LaneLease lease;
    private final long sequence;
    private final long[] words;

    Install(
        IngestionPool pool,
        LaneAdmission admission,
        ProducerIdentity identity,
        LaneLease lease,
        long sequence,
        long[] words) {
      super(pool, admission);
      this.identity = identity;
      this.lease = lease;
      this.sequence = sequence;
      this.words = words;
    }

    @Override
    void admit() {
      LaneAdmission admission = admission();
      requireWorker(admission);
      if (admission.state() == LaneAdmission.State.UNASSIGNED) {
        throw refusal(LaneError.LANE_UNASSIGNED, admission);
      }
      boolean open =
          admission.state() == LaneAdmission.State.AWAITING_SNAPSHOT
              || admission.state() == LaneAdmission.State.ACTIVE;
      if (!open || !admission.holds(lease)) {
        throw refusal(LaneError.LANE_RETIRED, admission);
      }
    }

    /** Snapshots are carried out in batches, see {@link SnapshotBatch}. */
    @Override
    void execute(LaneIngestor ingestor, IngestProbe probe) {
      throw new IllegalStateException("a snapshot is installed in a batch");
    }

    /** Adds the snapshot to the batch, or answers. */
    boolean join(SnapshotBatch batch, LaneIngestor ingestor) {
      IngestResult refused = ingestor.beginSnapshot(identity, lease, sequence, words);
      if (refused != null) {
        conclude(ingestor, refused);
        return false;
      }
      batch.add(ingestor.lane(), words);
      return true;
    }

    /** The words are stored: publishes the lane and answers. */
    void complete(LaneIngestor ingestor, IngestProbe probe) {
      conclude(ingestor, ingestor.activate(sequence, publish -> activate(probe, publish)));
    }

    private void conclude(LaneIngestor ingestor, IngestResult result) {
      pool().counters().snapshot(result);
      answer(ingestor, result);
    }

    /** Retirement takes the same lock, so a retired lane is never published. */
    private boolean activate(IngestProbe probe, Runnable publish) {
      LaneAdmission admission = admission();
      probe.beforeActivation(admission.lane());
      synchronized (admission) {
        if (!admission.isAt(epoch)
            || !admission.holds(lease)
            || admission.state() != LaneAdmission.State.AWAITING_SNAPSHOT) {
          return false;
        }
        publish.run();
        admission.activated();
        return true;
      }
    }
  }

  /** Asks for proof of an exact sequence. */
  static final class Drain extends ControlCommand {
    private final LaneLease lease;
    private final long expectedSequence;

    Drain(IngestionPool pool, LaneAdmission admission, LaneLease lease, long expectedSequence) {
      super(pool, admission);
      this.lease = lease;
      this.expectedSequence = expectedSequence;
    }

    @Override
    void admit() {
      LaneAdmission admission = admission();
      requireWorker(admission);
      if (admission.state() != LaneAdmission.State.ACTIVE || !admission.holds(lease)) {
        throw refusal(LaneError.LANE_RETIRED, admission);
      }
    }

    @Override
    void execute(LaneIngestor ingestor, IngestProbe probe) {
      answer(ingestor, ingestor.drain(lease, expectedSequence));
    }
  }

  /** Frees a lane for another pool. */
  static final class Release extends ControlCommand {
    Release(IngestionPool pool, LaneAdmission admission) {
      super(pool, admission);
    }

    @Override
    void admit() {
      admission().unassign();
    }

    @Override
    boolean ignoresEpoch() {
      return true;
    }

    @Override
    void execute(LaneIngestor ingestor, IngestProbe probe) {
      throw new IllegalStateException("a release is carried out without an ingestor");
    }

    /** The lane has no owner: unbind it. */
    @Override
    void carriedOut() {
      try {
        pool().index().releaseLane(admission().lane());
      } catch (LaneException releasedBefore) {
        fail(releasedBefore);
        return;
      }
      succeed(new IngestOutcome(IngestResult.AWAITING_SNAPSHOT, 0, null, null));
    }

    /** A failed worker has let go of its lanes already. */
    @Override
    void failed(IngestWorker worker) {
      carriedOut();
    }
  }
}
