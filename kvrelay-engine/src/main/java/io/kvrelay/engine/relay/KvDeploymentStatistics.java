package io.kvrelay.engine.relay;

import io.kvrelay.engine.topology.FactsFeed;
import io.kvrelay.engine.topology.SlotCounters;
import io.kvrelay.engine.topology.SlotState;
import io.kvrelay.engine.topology.TopologyProjection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * What a relay that follows a deployment knows of it, and what came of that so far.
 *
 * @param facts the stream of deployment facts
 * @param slots endpoints by state; every state but that of an endpoint that is gone
 * @param departingSlots endpoints that left and are not joined yet
 * @param slotEvents what happened to all slots; every event
 * @param topology inputs of readiness that were ignored
 * @param recoveriesInFlight requests for history under way
 */
public record KvDeploymentStatistics(
    FactsFeed.Statistics facts,
    Map<SlotState, Integer> slots,
    int departingSlots,
    Map<SlotCounters.Event, Long> slotEvents,
    TopologyProjection.Statistics topology,
    int recoveriesInFlight) {
  /**
   * Copies the maps.
   *
   * @param facts the stream of deployment facts
   * @param slots endpoints by state
   * @param departingSlots endpoints that left and are not joined yet
   * @param slotEvents what happened to all slots
   * @param topology inputs of readiness that were ignored
   * @param recoveriesInFlight requests for history under way
   */
  public KvDeploymentStatistics {
    slots = Collections.unmodifiableMap(new EnumMap<>(slots));
    slotEvents = Collections.unmodifiableMap(new EnumMap<>(slotEvents));
  }
}
