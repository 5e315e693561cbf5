package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.ScriptedRelay.producer;
import static io.kvrelay.engine.view.ViewRig.filter;
import static io.kvrelay.engine.view.ViewRig.hashes;
import static io.kvrelay.engine.view.ViewRig.prompt;
import static io.kvrelay.engine.view.ViewRig.show;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a view counts, from its first stream to the release of a pool. */
class ViewCountersTest {
  private static final ProducerIdentity A = producer(1, 1, 9, 1);

  private final ViewRig rig = new ViewRig();
  private final ScriptedRelay relay = new ScriptedRelay(9);

  @Test
  void aPlainFlowIsCountedByItsParts() {
    ScriptedFilter filter = filter(A, prompt(1, 8));
    long snapshotBytes =
        filter.snapshot(2).stream().mapToLong(frame -> frame.payload().remaining()).sum();
    show(relay, 1, filter);
    rig.attach(relay);
    assertThat(rig.count(ViewCounter.STREAMS_OPENED)).as("three planes and a filter").isEqualTo(4);
    assertThat(rig.count(ViewCounter.CATALOGS_APPLIED)).isEqualTo(1);
    assertThat(rig.count(ViewCounter.READINESS_APPLIED)).isEqualTo(1);
    assertThat(rig.count(ViewCounter.LOAD_WINDOWS_APPLIED)).isEqualTo(1);
    assertThat(rig.count(ViewCounter.POOLS_ADMITTED)).isEqualTo(1);
    assertThat(rig.count(ViewCounter.FILTER_CHUNKS)).isEqualTo(2);
    assertThat(rig.count(ViewCounter.FILTER_SNAPSHOT_BYTES)).isEqualTo(snapshotBytes);
    assertThat(rig.count(ViewCounter.FILTER_SNAPSHOTS_INSTALLED)).isEqualTo(1);

    PublicationFrame one = filter.set(3, 0x7);
    PublicationFrame more = filter.store(hashes(prompt(2, 3)));
    int deltaBytes = one.payload().remaining() + more.payload().remaining();
    int images = 1 + images(more);
    relay.publish(filter, one);
    relay.publish(filter, more);
    rig.settle();
    assertThat(rig.count(ViewCounter.FILTER_DELTAS_APPLIED)).isEqualTo(2);
    assertThat(rig.count(ViewCounter.FILTER_DELTA_BYTES)).isEqualTo(deltaBytes);
    assertThat(rig.count(ViewCounter.FILTER_IMAGES_APPLIED)).isEqualTo(images);
    assertThat(rig.count(ViewCounter.POOLS_RELEASED)).isZero();

    relay.show(2);
    rig.settle();
    assertThat(rig.count(ViewCounter.POOLS_RELEASED)).isEqualTo(1);
    assertThat(rig.count(ViewCounter.CATALOGS_APPLIED)).isEqualTo(2);
    for (ViewCounter trouble :
        List.of(
            ViewCounter.FILTER_DELTAS_REFUSED,
            ViewCounter.FILTER_DELTAS_DROPPED,
            ViewCounter.FILTER_DELTAS_IGNORED,
            ViewCounter.FILTER_SNAPSHOTS_REFUSED,
            ViewCounter.LANE_FAULTS,
            ViewCounter.LOAD_ENTRIES_QUARANTINED,
            ViewCounter.REPLICAS_WITHDRAWN)) {
      assertThat(rig.count(trouble)).as("%s", trouble).isZero();
    }
  }

  /** A delta's payload is a header of 48 bytes, a base, a count, and twelve bytes an image. */
  private static int images(PublicationFrame delta) {
    return (delta.payload().remaining() - 48 - 12) / 12;
  }

  @Test
  void quarantinedLoadIsCountedWithEachWindow() {
    show(relay, 1, filter(A, prompt(1, 8)));
    LoadSnapshot strange =
        new LoadSnapshot(
            List.of(),
            null,
            List.of(
                new QuarantinedEntry(A.poolId(), "A", false, "used > total"),
                new QuarantinedEntry(null, "B", false, "no identity")));
    relay.load.answer(strange);
    rig.attach(relay);
    relay.load.sendAll(strange);
    rig.settle();
    assertThat(rig.count(ViewCounter.LOAD_WINDOWS_APPLIED)).isEqualTo(2);
    assertThat(rig.count(ViewCounter.LOAD_ENTRIES_QUARANTINED)).isEqualTo(4);
  }

  @Test
  void whatLanesDoNotTakeUpIsCountedOnceAndByItsKind() {
    ViewCounters view = new ViewCounters();
    IngestionCounters lanes = new IngestionCounters(view);
    lanes.snapshot(IngestResult.SNAPSHOT_INSTALLED);
    lanes.delta(IngestResult.DELTA_APPLIED, 5);
    assertThat(view.snapshot().count(ViewCounter.FILTER_SNAPSHOTS_REFUSED)).isZero();
    assertThat(view.snapshot().count(ViewCounter.FILTER_DELTAS_IGNORED)).isZero();
    lanes.snapshot(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    lanes.delta(IngestResult.AWAITING_SNAPSHOT, 5);
    lanes.delta(IngestResult.LANE_DEACTIVATED, 5);
    lanes.droppedDelta();
    lanes.refusedDelta();
    lanes.refusedDelta();
    lanes.refusedDelta();
    lanes.fault();
    assertThat(view.snapshot().count(ViewCounter.FILTER_SNAPSHOTS_REFUSED)).isEqualTo(1);
    assertThat(view.snapshot().count(ViewCounter.FILTER_DELTAS_IGNORED)).isEqualTo(2);
    assertThat(view.snapshot().count(ViewCounter.FILTER_DELTAS_DROPPED)).isEqualTo(1);
    assertThat(view.snapshot().count(ViewCounter.FILTER_DELTAS_REFUSED)).isEqualTo(3);
    assertThat(view.snapshot().count(ViewCounter.LANE_FAULTS)).isEqualTo(1);
  }
}
