package io.kvrelay.api;

import java.util.List;

/**
 * One live pool as the catalog shows it. Only {@link #producer()} is identity; the rest describes
 * and may change without a new generation.
 *
 * @param producer the subscription key
 * @param servingEndpoint the endpoint that owns the pool
 * @param registrations names it serves; may be empty when read from a peer
 * @param querySemantics how its queries are hashed
 * @param roles roles declared by the endpoint's cards, independent of liveness; not empty, unique
 */
public record PoolDescriptor(
    ProducerIdentity producer,
    EndpointId servingEndpoint,
    List<ModelRegistration> registrations,
    QuerySemantics querySemantics,
    List<WorkerRole> roles) {
  /**
   * Checks the roles and copies the lists.
   *
   * @param producer the subscription key
   * @param servingEndpoint the endpoint that owns the pool
   * @param registrations names it serves; may be empty when read from a peer
   * @param querySemantics how its queries are hashed
   * @param roles roles declared by the endpoint's cards, independent of liveness; not empty, unique
   * @throws IllegalArgumentException if there is no role or one is repeated
   */
  public PoolDescriptor {
    registrations = List.copyOf(registrations);
    roles = Check.unique(roles, "roles");
    Check.that(!roles.isEmpty(), "roles", roles, "must not be empty");
  }

  /**
   * The pool.
   *
   * @return its id
   */
  public PoolId poolId() {
    return producer.poolId();
  }
}
