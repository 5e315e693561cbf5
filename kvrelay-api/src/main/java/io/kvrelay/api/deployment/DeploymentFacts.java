package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Everything a relay is told about its deployment, at one revision. Complete: what is absent is
 * gone. Cards decide who exists, event sources decide who speaks.
 *
 * @param revision grows with each change (unsigned)
 * @param cards all model cards, in any order
 * @param liveWorkers per endpoint the workers that are discovered and routable. An endpoint that is
 *     absent is one nobody has looked at yet, or no longer can; an empty set is authoritative
 * @param eventSources all advertised event sources, in any order
 * @param refused what the provider could not read; named in health, without any other effect
 */
public record DeploymentFacts(
    long revision,
    List<ModelCard> cards,
    Map<EndpointId, Set<Long>> liveWorkers,
    List<EventSourceAdvertisement> eventSources,
    List<QuarantinedEntry> refused) {
  /** Nothing. */
  public static final DeploymentFacts EMPTY =
      new DeploymentFacts(0, List.of(), Map.of(), List.of(), List.of());

  /**
   * Copies the collections.
   *
   * @param revision grows with each change (unsigned)
   * @param cards all model cards, in any order
   * @param liveWorkers per endpoint the workers that are discovered and routable
   * @param eventSources all advertised event sources, in any order
   * @param refused what the provider could not read; named in health, without any other effect
   */
  public DeploymentFacts {
    cards = List.copyOf(cards);
    Map<EndpointId, Set<Long>> copy = new HashMap<>();
    liveWorkers.forEach((endpoint, workers) -> copy.put(endpoint, Set.copyOf(workers)));
    liveWorkers = Map.copyOf(copy);
    eventSources = List.copyOf(eventSources);
    refused = List.copyOf(refused);
  }
}
