package io.kvrelay.cli.config;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import java.util.Map;
import java.util.TreeMap;

/**
 * What became of one engine's messages.
 *
 * @param kvStateEndpoint the endpoint under which it is advertised
 * @param member the rank
 * @param address where it publishes
 * @param counters what was counted, by name
 */
public record EngineReading(
    EndpointId kvStateEndpoint, Member member, String address, Map<String, Long> counters) {
  /** Copies the counters, in the order of their names. */
  public EngineReading {
    counters = new TreeMap<>(counters);
  }
}
