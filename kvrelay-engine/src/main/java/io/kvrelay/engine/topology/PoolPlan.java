package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.EndpointSources;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What the pool of an endpoint should be, according to one revision of the facts.
 *
 * @param membership the endpoint's membership; allows a pool
 * @param basis its identity and query semantics
 * @param kvStateEndpoint where its event sources are advertised
 * @param sources its expected ranks and their sources, at least one of them active
 */
public record PoolPlan(
    EndpointMembership membership,
    PoolBasis basis,
    EndpointId kvStateEndpoint,
    EndpointSources sources) {
  /**
   * What a running generation cannot change: another one needs another generation.
   *
   * @param domain which caches
   * @param kvStateEndpoint whose events
   */
  public record Binding(PoolBasis domain, EndpointId kvStateEndpoint) {}

  /**
   * Decides whether an endpoint has a pool: one domain, a name to serve, no conflict that blocks
   * it, one KV-state endpoint, and an active source on at least one expected rank.
   *
   * @param membership the endpoint
   * @param sources its sources, from the same facts
   * @return the plan, or null if it has none
   */
  public static @Nullable PoolPlan of(EndpointMembership membership, EndpointSources sources) {
    EndpointContent content = membership.content();
    EndpointId kvStateEndpoint = sources.kvStateEndpoint();
    if (!content.allowsPool() || kvStateEndpoint == null || !sources.hasActiveSource()) {
      return null;
    }
    return new PoolPlan(
        membership, Objects.requireNonNull(content.basis()), kvStateEndpoint, sources);
  }

  /**
   * The part that fixes a generation.
   *
   * @return the binding
   */
  public Binding binding() {
    return new Binding(basis, kvStateEndpoint);
  }

  /**
   * The endpoint.
   *
   * @return its id
   */
  public EndpointId endpoint() {
    return membership.endpoint();
  }

  /**
   * Names it serves.
   *
   * @return at least one
   */
  public List<ModelRegistration> registrations() {
    return membership.content().registrations();
  }

  /**
   * Roles its workers declare.
   *
   * @return at least one
   */
  public List<WorkerRole> roles() {
    return membership.content().roles();
  }

  /**
   * Its workers, for capacity.
   *
   * @return the workers
   */
  public List<WorkerFacts> workers() {
    return membership.content().workers();
  }
}
