package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the cards of one endpoint come to. Two equal ones need no reaction.
 *
 * @param endpoint the endpoint
 * @param basis what its pool is, or null if its base cards disagree or name none
 * @param registrations names it serves, sorted
 * @param roles roles of its workers, sorted, distinct
 * @param workers its workers in unsigned order of their ids
 * @param adapters adapters it serves, by served name
 * @param conflicts what contradicts what, sorted
 */
public record EndpointContent(
    EndpointId endpoint,
    @Nullable PoolBasis basis,
    List<ModelRegistration> registrations,
    List<WorkerRole> roles,
    List<WorkerFacts> workers,
    List<AdapterBinding> adapters,
    List<Conflict> conflicts) {
  /**
   * Copies the lists.
   *
   * @param endpoint the endpoint
   * @param basis what its pool is, or null if its base cards disagree or name none
   * @param registrations names it serves, sorted
   * @param roles roles of its workers, sorted, distinct
   * @param workers its workers in unsigned order of their ids
   * @param adapters adapters it serves, by served name
   * @param conflicts what contradicts what, sorted
   */
  public EndpointContent {
    registrations = List.copyOf(registrations);
    roles = List.copyOf(roles);
    workers = List.copyOf(workers);
    adapters = List.copyOf(adapters);
    conflicts = List.copyOf(conflicts);
  }

  /**
   * Whether there is a conflict of a scope.
   *
   * @param scope the scope
   * @return true if so
   */
  public boolean has(ConflictScope scope) {
    return conflicts.stream().anyMatch(conflict -> conflict.scope() == scope);
  }

  /**
   * Whether a conflict keeps the endpoint from having a pool.
   *
   * @return true if so
   */
  public boolean isBlocked() {
    return has(ConflictScope.POOL_MATERIALIZATION) || has(ConflictScope.SERVING_TOPOLOGY);
  }

  /**
   * Whether the cards allow a pool: one domain, a name to serve, and no conflict that blocks it.
   * Event sources decide the rest.
   *
   * @return true if so
   */
  public boolean allowsPool() {
    return basis != null && !registrations.isEmpty() && !isBlocked();
  }

  /**
   * The base model it serves.
   *
   * @return its name, or null if no base model is registered or the endpoint takes no part in
   *     serving
   */
  public @Nullable String servedBaseModel() {
    if (has(ConflictScope.SERVING_TOPOLOGY)) {
      return null;
    }
    for (ModelRegistration registration : registrations) {
      if (registration.target() instanceof ModelTarget.Base base) {
        return base.baseModel();
      }
    }
    return null;
  }

  EndpointContent withConflict(Conflict conflict) {
    List<Conflict> more = new ArrayList<>(conflicts);
    more.add(conflict);
    more.sort(null);
    return new EndpointContent(endpoint, basis, registrations, roles, workers, adapters, more);
  }
}
