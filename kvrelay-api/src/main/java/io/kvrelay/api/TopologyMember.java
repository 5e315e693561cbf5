package io.kvrelay.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One endpoint that takes part in serving a model.
 *
 * @param endpoint the endpoint
 * @param roles its declared roles, not empty, unique
 * @param poolId its pool while that is materialized, else null; the current generation stands in
 *     the catalog
 */
public record TopologyMember(EndpointId endpoint, List<WorkerRole> roles, @Nullable PoolId poolId) {
  /**
   * Checks the roles and copies the list.
   *
   * @param endpoint the endpoint
   * @param roles its declared roles, not empty, unique
   * @param poolId its pool while that is materialized, else null; the current generation stands in
   *     the catalog
   * @throws IllegalArgumentException if there is no role or one is repeated
   */
  public TopologyMember {
    roles = Check.unique(roles, "roles");
    Check.that(!roles.isEmpty(), "roles", roles, "must not be empty");
  }
}
