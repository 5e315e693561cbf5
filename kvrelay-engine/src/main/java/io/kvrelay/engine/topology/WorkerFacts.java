package io.kvrelay.engine.topology;

import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One worker of an endpoint, as its base card describes it.
 *
 * @param workerId the worker (unsigned)
 * @param role what it does, or null if it does not say
 * @param modelTypes what its model does
 * @param needs alternatives of roles that must be present for it to serve
 * @param runtime how it runs
 */
public record WorkerFacts(
    long workerId,
    @Nullable WorkerRole role,
    Set<String> modelTypes,
    List<List<WorkerRole>> needs,
    RuntimeConfig runtime) {
  /**
   * The role, where a worker without one counts as {@link WorkerRole#LEGACY}.
   *
   * @return the role
   */
  public WorkerRole listedRole() {
    return role == null ? WorkerRole.LEGACY : role;
  }
}
