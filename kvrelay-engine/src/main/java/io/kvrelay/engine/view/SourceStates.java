package io.kvrelay.engine.view;

import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.QuarantinedEntry;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Describes one session for people. Reads what others write; one part after the other. */
final class SourceStates {
  private final PoolBoard board;
  private final SourceSession session;

  SourceStates(PoolBoard board, SourceSession session) {
    this.board = board;
    this.session = session;
  }

  SourceState describe(String connection) {
    Map<PlaneKind, SourceState.PlaneState> planes = new EnumMap<>(PlaneKind.class);
    planes.put(PlaneKind.CATALOG, plane(session.catalogPlane()));
    planes.put(PlaneKind.READINESS, plane(session.readinessPlane()));
    planes.put(PlaneKind.LOAD, plane(session.loadPlane()));
    List<SourceState.PoolState> pools = pools();
    List<QuarantinedEntry> quarantined = session.quarantined();
    return new SourceState(
        session.label(),
        session.relay(),
        trust(planes, pools, quarantined),
        connection,
        planes,
        pools,
        quarantined);
  }

  private static SourceState.Trust trust(
      Map<PlaneKind, SourceState.PlaneState> planes,
      List<SourceState.PoolState> pools,
      List<QuarantinedEntry> quarantined) {
    SourceState.PlaneState catalog = planes.get(PlaneKind.CATALOG);
    if (catalog == null || catalog.status() != PlaneStatus.CURRENT) {
      return SourceState.Trust.UNKNOWN;
    }
    boolean exact =
        quarantined.isEmpty()
            && planes.values().stream().allMatch(SourceStates::isSound)
            && pools.stream().allMatch(pool -> isSound(pool.replica()));
    return exact ? SourceState.Trust.EXACT : SourceState.Trust.DEGRADED;
  }

  private static boolean isSound(SourceState.PlaneState plane) {
    return plane.status() == PlaneStatus.CURRENT && plane.fresh();
  }

  private List<SourceState.PoolState> pools() {
    List<SourceState.PoolState> pools = new ArrayList<>();
    PoolCatalog catalog = session.catalog();
    if (catalog != null) {
      for (PoolDescriptor descriptor : catalog.pools()) {
        pools.add(pool(descriptor));
      }
    }
    return pools;
  }

  private SourceState.PoolState pool(PoolDescriptor descriptor) {
    PoolSlot slot = board.slot(descriptor.poolId());
    String producer = descriptor.producer().toString();
    if (slot == null || slot.session() != session) {
      String why = slot == null ? "not admitted yet" : "provided by " + slot.session().label();
      return new SourceState.PoolState(
          descriptor.poolId(),
          producer,
          -1,
          closed(why),
          OptionalLong.empty(),
          LoadReading.NOT_REPORTED);
    }
    FilterReplica replica = slot.replica();
    return new SourceState.PoolState(
        descriptor.poolId(),
        producer,
        Math.max(-1, slot.lane()),
        replica == null ? closed(slot.refusal()) : plane(replica, replica.freshness()),
        replica != null && replica.isServing()
            ? OptionalLong.of(replica.installedSequence())
            : OptionalLong.empty(),
        slot.load());
  }

  private static SourceState.PlaneState closed(String why) {
    return new SourceState.PlaneState(PlaneStatus.CLOSED, false, OptionalLong.empty(), why);
  }

  private SourceState.PlaneState plane(WatchPlane<?> plane) {
    return plane(plane, plane.freshness());
  }

  private SourceState.PlaneState plane(StreamPlane<?> plane, Freshness freshness) {
    StreamPlane.Report report = plane.report();
    OptionalLong age =
        freshness.isKnown()
            ? OptionalLong.of(Math.max(0, freshness.ageNanos(board.runtime())))
            : OptionalLong.empty();
    boolean fresh = freshness.isFresh(board.runtime(), board.maxAgeNanos(plane.kind()));
    return new SourceState.PlaneState(report.status(), fresh, age, report.reason());
  }
}
