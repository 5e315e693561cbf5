package io.kvrelay.engine.publication;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import java.util.List;

/**
 * What a pool is, when it is attached.
 *
 * @param poolId its id; one endpoint owns it
 * @param endpoint the serving endpoint; it owns one pool
 * @param format the filter's format
 * @param registrations names it serves, at least one
 * @param querySemantics how its queries are hashed; fixed for the generation
 * @param roles declared roles, at least one
 */
public record PoolSpec(
    PoolId poolId,
    EndpointId endpoint,
    CkfFormat format,
    List<ModelRegistration> registrations,
    QuerySemantics querySemantics,
    List<WorkerRole> roles) {
  /**
   * Copies the lists.
   *
   * @param poolId its id; one endpoint owns it
   * @param endpoint the serving endpoint; it owns one pool
   * @param format the filter's format
   * @param registrations names it serves, at least one
   * @param querySemantics how its queries are hashed; fixed for the generation
   * @param roles declared roles, at least one
   */
  public PoolSpec {
    registrations = List.copyOf(registrations);
    roles = List.copyOf(roles);
  }
}
