package io.kvrelay.cli.config;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.engine.relay.DeploymentConfig;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one acceptable version of the file says.
 *
 * @param settings what holds until the process ends
 * @param cards cards of all workers
 * @param liveWorkers per endpoint the workers that serve
 * @param events where events come from
 * @param loads what ranks report, by serving endpoint
 */
public record RelayFile(
    Settings settings,
    List<ModelCard> cards,
    Map<EndpointId, Set<Long>> liveWorkers,
    List<EventsEntry> events,
    Map<EndpointId, List<LoadReport>> loads) {
  /**
   * Settings of the process.
   *
   * @param scope what part of the endpoints counts
   * @param config how pools are run
   */
  public record Settings(DiscoveryScope scope, DeploymentConfig config) {
    /** Whether both lead to the same process. */
    boolean saysTheSameAs(Settings other) {
      return scope.equals(other.scope) && text(config).equals(text(other.config));
    }

    private static List<Object> text(DeploymentConfig config) {
      return List.of(
          config.filterFormat(),
          config.publicationThreshold(),
          config.publicationDelay(),
          config.recoveryTimeout(),
          config.maxConcurrentRecoveries(),
          config.unknownGrace(),
          config.inboxBatches(),
          config.stopTimeout());
    }
  }

  /** Copies the collections. */
  public RelayFile {
    cards = List.copyOf(cards);
    liveWorkers = Map.copyOf(liveWorkers);
    events = List.copyOf(events);
    loads = Map.copyOf(loads);
  }
}
