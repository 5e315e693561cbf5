package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.EndpointSources;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;

/**
 * What one revision of the facts comes to: membership, sources and liveness that belong together.
 *
 * @param factsRevision the revision
 * @param membership endpoints in scope
 * @param sources event sources of exactly those endpoints
 * @param liveWorkers live workers per endpoint in scope; absent: not known
 * @param problems inputs without effect, each named
 */
public record DeploymentView(
    long factsRevision,
    MembershipView membership,
    SortedMap<EndpointId, EndpointSources> sources,
    Map<EndpointId, Set<Long>> liveWorkers,
    List<RelayHealth.Problem> problems) {
  /**
   * Whether another view calls for the same.
   *
   * @param other a view
   * @return true if they differ in nothing but the revision
   */
  public boolean saysTheSameAs(DeploymentView other) {
    return membership.equals(other.membership)
        && sources.equals(other.sources)
        && liveWorkers.equals(other.liveWorkers)
        && problems.equals(other.problems);
  }
}
