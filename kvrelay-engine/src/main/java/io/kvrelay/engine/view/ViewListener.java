package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;

/**
 * Told of changes, serially, on the view's executor. Must return quickly; what it throws is counted
 * and logged.
 */
public interface ViewListener {
  /**
   * A plane of a source changed its status.
   *
   * @param source the source's label
   * @param plane catalog, readiness or load
   * @param status the status
   * @param reason why, for people
   */
  default void planeChanged(String source, PlaneKind plane, PlaneStatus status, String reason) {}

  /**
   * A pool's replica changed its status. {@link PlaneStatus#CLOSED} means that the pool, or this
   * generation of it, is gone.
   *
   * @param source the source's label
   * @param pool the pool
   * @param status the status
   * @param reason why, for people
   */
  default void replicaChanged(String source, PoolId pool, PlaneStatus status, String reason) {}
}
