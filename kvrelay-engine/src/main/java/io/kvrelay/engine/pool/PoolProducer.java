package io.kvrelay.engine.pool;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import java.util.concurrent.CompletionStage;

/**
 * What a publication hub needs of a pool: a barrier snapshot with the deltas that continue it, and
 * the means to let go or to fence. Thread safe; nothing blocks.
 */
public interface PoolProducer {
  /**
   * The generation this producer is.
   *
   * @return the identity
   */
  ProducerIdentity identity();

  /**
   * Takes a barrier snapshot and makes {@code lease} the current lease. The pending tail goes to
   * the old lease first. The first delta of the returned receiver is exactly {@code sequence ->
   * sequence + 1}.
   *
   * @param lease the new lease
   * @return a stage with the snapshot; fails with a {@link io.kvrelay.api.RelayException} if the
   *     sequence is exhausted, the copy cannot be made, or the producer is shutting down or fenced.
   *     If the requester cancelled meanwhile, the lease is retired.
   */
  CompletionStage<PoolSnapshot> subscribe(LaneLease lease);

  /**
   * Retires a lease. A lease that is not current is left alone.
   *
   * @param lease the lease
   * @return a stage that completes once it is retired
   */
  CompletionStage<Void> retireLease(LaneLease lease);

  /**
   * Fences this generation: the tail is dropped, the lease retired, receivers closed. Idempotent;
   * the first reason stays.
   *
   * @param reason for people
   */
  void fence(String reason);

  /**
   * Completes once the producer has ended, by shutdown or by fence.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> terminated();
}
