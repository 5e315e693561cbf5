package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.ProducerIdentity;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * The edge on which everything rests: whoever sees a lane ready sees its whole snapshot. Run with
 * {@code benchmarks/run jcstress -t Stress}.
 */
public final class SnapshotPublicationStress {
  private static final CkfFormat FORMAT = new CkfFormat(1, 2);
  private static final long NOT_READY = -1;

  private SnapshotPublicationStress() {}

  private static LaneIndex index() {
    return ViewLoad.index(FORMAT, 1);
  }

  private static LaneIngestor assigned(LaneIndex index, ProducerIdentity identity) {
    LaneIngestor ingestor = index.claimLane(0);
    ingestor.assign(identity, ViewLoad.lease(0));
    return ingestor;
  }

  private static void install(
      LaneIndex index, LaneIngestor ingestor, ProducerIdentity identity, long word) {
    ViewLoad.installSnapshot(index, ingestor, identity, 1, new long[] {word, word});
  }

  /** A first snapshot. */
  @JCStressTest
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "the lane is not ready yet")
  @Outcome(id = "7, 7", expect = Expect.ACCEPTABLE, desc = "the lane is ready: all of it is seen")
  @Outcome(expect = Expect.FORBIDDEN, desc = "ready, and a word of the snapshot is missing")
  @State
  public static class FirstSnapshot {
    private final LaneIndex index = index();
    private final ProducerIdentity identity = ViewLoad.identity(index, 0);
    private final LaneIngestor ingestor = assigned(index, identity);

    /** The lane's owner. */
    @Actor
    public void owner() {
      install(index, ingestor, identity, 7);
    }

    /** A query. */
    @Actor
    public void query(JJ_Result result) {
      boolean ready = index.capture().readyLanes() != 0;
      result.r1 = ready ? index.table().get(1, 0) : NOT_READY;
      result.r2 = ready ? index.table().get(0, 0) : NOT_READY;
    }
  }

  /** A lane that is taken away and given a new snapshot while a query runs. */
  @JCStressTest
  @Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "the lane is not ready")
  @Outcome(id = "7, 7", expect = Expect.ACCEPTABLE, desc = "the old words")
  @Outcome(id = "9, 9", expect = Expect.ACCEPTABLE, desc = "the new words")
  @Outcome(
      id = {"7, 9", "9, 7"},
      expect = Expect.ACCEPTABLE,
      desc = "captured before, overwritten meanwhile: a weak read")
  @Outcome(expect = Expect.FORBIDDEN, desc = "half cleared or torn")
  @State
  public static class Replacement {
    private final LaneIndex index = index();
    private final ProducerIdentity identity = ViewLoad.identity(index, 0);
    private final LaneIngestor ingestor = assigned(index, identity);

    /** Starts with a ready lane. */
    public Replacement() {
      install(index, ingestor, identity, 7);
    }

    /** The lane's owner. */
    @Actor
    public void owner() {
      ingestor.deactivate(new LaneFault.EmptyDelta(1), FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
      install(index, ingestor, identity, 9);
    }

    /** A query. */
    @Actor
    public void query(JJ_Result result) {
      boolean ready = index.capture().readyLanes() != 0;
      result.r1 = ready ? index.table().get(1, 0) : NOT_READY;
      result.r2 = ready ? index.table().get(0, 0) : NOT_READY;
    }
  }

  /** A delta of two buckets: each word whole, the pair in any mixture. */
  @JCStressTest
  @Outcome(
      id = {"7, 7", "7, -2", "-2, 7", "-2, -2"},
      expect = Expect.ACCEPTABLE,
      desc = "every word is old or new")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a torn word")
  @State
  public static class Delta {
    private final LaneIndex index = index();
    private final ProducerIdentity identity = ViewLoad.identity(index, 0);
    private final LaneIngestor ingestor = assigned(index, identity);

    /** Starts with a ready lane. */
    public Delta() {
      install(index, ingestor, identity, 7);
    }

    /** The lane's owner. */
    @Actor
    public void owner() {
      ingestor.applyDelta(
          new LaneDelta(
              identity, ViewLoad.lease(0), 1, 2, new int[] {0, 1}, new long[] {-2, -2}, 2));
    }

    /** A query. */
    @Actor
    public void query(JJ_Result result) {
      result.r1 = index.table().get(1, 0);
      result.r2 = index.table().get(0, 0);
    }
  }
}
