package io.kvrelay.events.zmq;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.events.SourceTrust;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One source at one moment.
 *
 * @param kvStateEndpoint the endpoint under which it is advertised
 * @param member the rank
 * @param address where the engine publishes
 * @param trust what its picture is worth
 * @param trustReason why it is not exact; empty if it is
 * @param blocks distinct blocks known on the device
 * @param heldBatches live batches held back for a replay
 * @param counters everything that was counted since the beginning, by name; the names are listed in
 *     {@code docs/engine-events.md}
 */
public record SourceStatistics(
    EndpointId kvStateEndpoint,
    Member member,
    String address,
    SourceTrust trust,
    String trustReason,
    int blocks,
    int heldBatches,
    Map<String, Long> counters) {
  /**
   * Copies the counters.
   *
   * @param kvStateEndpoint the endpoint under which it is advertised
   * @param member the rank
   * @param address where the engine publishes
   * @param trust what its picture is worth
   * @param trustReason why it is not exact
   * @param blocks distinct blocks known on the device
   * @param heldBatches live batches held back
   * @param counters everything that was counted
   */
  public SourceStatistics {
    counters = Collections.unmodifiableMap(new LinkedHashMap<>(counters));
  }

  /**
   * One counter.
   *
   * @param name its name
   * @return its value; 0 if there is none of that name
   */
  public long counter(String name) {
    return counters.getOrDefault(name, 0L);
  }
}
