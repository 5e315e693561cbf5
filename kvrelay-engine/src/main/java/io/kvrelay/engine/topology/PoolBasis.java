package io.kvrelay.engine.topology;

import io.kvrelay.api.DcId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuerySemantics;

/**
 * What all base cards of an endpoint agree on.
 *
 * @param domain which caches its blocks may be compared with
 * @param semantics how its queries are hashed
 */
public record PoolBasis(IndexerDomainId domain, QuerySemantics semantics) {
  /**
   * The pool in one data center.
   *
   * @param dcId the data center
   * @return the pool
   */
  public PoolId poolId(DcId dcId) {
    return new PoolId(domain, dcId);
  }
}
