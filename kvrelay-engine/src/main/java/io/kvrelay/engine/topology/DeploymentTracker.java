package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.ModelCard;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** From deployment facts to what they come to, within a scope. Not thread safe. */
public final class DeploymentTracker {
  private final DiscoveryScope scope;
  private final MembershipTracker membership = new MembershipTracker();
  private final SourceTracker sources = new SourceTracker();

  /**
   * Starts without facts.
   *
   * @param scope what counts
   */
  public DeploymentTracker(DiscoveryScope scope) {
    this.scope = scope;
  }

  /**
   * Takes complete facts.
   *
   * @param facts the facts
   * @return what they come to
   */
  public DeploymentView update(DeploymentFacts facts) {
    List<ModelCard> cards =
        facts.cards().stream().filter(card -> scope.matches(card.endpoint())).toList();
    MembershipView members = membership.update(cards);
    var bySource = sources.update(members, facts.eventSources());
    Map<EndpointId, Set<Long>> live = new HashMap<>(facts.liveWorkers());
    live.keySet().retainAll(members.endpoints().keySet());
    List<RelayHealth.Problem> problems = new ArrayList<>();
    for (QuarantinedEntry refused : facts.refused()) {
      problems.add(new RelayHealth.Problem(refused.key(), refused.detail()));
    }
    problems.addAll(members.ignored());
    problems.addAll(sources.problems());
    return new DeploymentView(facts.revision(), members, bySource, Map.copyOf(live), problems);
  }
}
