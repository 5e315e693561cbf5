package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayIdentity;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Where one attached source stands. Immutable; the parts are read one by one.
 *
 * @param label what is attached
 * @param relay the relay's identity, or null while there is no connection
 * @param trust whether what the view holds of it is exact, degraded or unknown
 * @param connection the connection, for people
 * @param planes catalog, readiness and load; empty while there is no connection
 * @param pools its pools; empty without a catalog
 * @param quarantined entries of the current snapshots that are held as unusable
 */
public record SourceState(
    String label,
    @Nullable RelayIdentity relay,
    Trust trust,
    String connection,
    Map<PlaneKind, PlaneState> planes,
    List<PoolState> pools,
    List<QuarantinedEntry> quarantined) {
  /** How far a source's state in the view may be relied on. */
  public enum Trust {
    /** Every plane is current and fresh, and every pool's replica is installed and fresh. */
    EXACT,
    /** Some plane or replica is missing, stale, quarantined or refused. */
    DEGRADED,
    /** There is no current catalog, so nothing can be resolved. */
    UNKNOWN
  }

  /**
   * Copies the collections.
   *
   * @param label what is attached
   * @param relay the relay's identity, or null while there is no connection
   * @param trust whether what the view holds of it is exact, degraded or unknown
   * @param connection the connection, for people
   * @param planes catalog, readiness and load; empty while there is no connection
   * @param pools its pools; empty without a catalog
   * @param quarantined entries of the current snapshots that are held as unusable
   */
  public SourceState {
    planes = Map.copyOf(planes);
    pools = List.copyOf(pools);
    quarantined = List.copyOf(quarantined);
  }

  /**
   * One plane.
   *
   * @param status its status
   * @param fresh false if nothing was received, or too long ago
   * @param ageNanos time since the last receipt, or nothing
   * @param reason why it stands there, for people
   */
  public record PlaneState(
      PlaneStatus status, boolean fresh, OptionalLong ageNanos, String reason) {}

  /**
   * One pool.
   *
   * @param poolId the pool
   * @param producer its generation, for people
   * @param lane its lane, or -1 if it was refused
   * @param replica its filter replica
   * @param installedSequence unsigned sequence of the installed state, or nothing
   * @param load its load
   */
  public record PoolState(
      PoolId poolId,
      String producer,
      int lane,
      PlaneState replica,
      OptionalLong installedSequence,
      LoadReading load) {}
}
