package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import org.jspecify.annotations.Nullable;

/**
 * One generation of one pool that the view follows, and its place in a table. Created and let go of
 * on the board; a refused pool has a slot without a lane.
 *
 * <pre>
 * field   mode       guarded by
 * load    volatile   written on the board, one immutable value per window
 * </pre>
 */
final class PoolSlot {
  private static final int PENDING = -2;

  private final SourceSession session;
  private final ProducerIdentity producer;
  private final @Nullable ViewTable table;
  private final int lane;
  private final @Nullable FilterReplica replica;
  private final String refusal;
  private volatile LoadReading load = LoadReading.DISCONNECTED;

  private PoolSlot(
      SourceSession session,
      ProducerIdentity producer,
      @Nullable ViewTable table,
      int lane,
      @Nullable FilterReplica replica,
      String refusal) {
    this.session = session;
    this.producer = producer;
    this.table = table;
    this.lane = lane;
    this.replica = replica;
    this.refusal = refusal;
  }

  static PoolSlot admitted(
      SourceSession session,
      ProducerIdentity producer,
      ViewTable table,
      int lane,
      FilterReplica replica) {
    return new PoolSlot(session, producer, table, lane, replica, "");
  }

  static PoolSlot refused(SourceSession session, ProducerIdentity producer, String refusal) {
    return new PoolSlot(session, producer, null, -1, null, refusal);
  }

  /** Admitted as soon as the lane of the pool's former generation is free. */
  static PoolSlot pending(SourceSession session, ProducerIdentity producer) {
    return new PoolSlot(session, producer, null, PENDING, null, "waits for its former lane");
  }

  SourceSession session() {
    return session;
  }

  ProducerIdentity producer() {
    return producer;
  }

  PoolId poolId() {
    return producer.poolId();
  }

  @Nullable ViewTable table() {
    return table;
  }

  /** The lane; negative without one. */
  int lane() {
    return lane;
  }

  boolean isRefused() {
    return lane == -1;
  }

  boolean isPending() {
    return lane == PENDING;
  }

  @Nullable FilterReplica replica() {
    return replica;
  }

  /** Why the pool has no lane; empty if it has one. */
  String refusal() {
    return refusal;
  }

  LoadReading load() {
    return load;
  }

  void load(LoadReading reading) {
    load = reading;
  }
}
