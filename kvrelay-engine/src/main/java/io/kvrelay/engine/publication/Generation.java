package io.kvrelay.engine.publication;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.pool.PoolProducer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The registry's entry of one pool generation. {@code state}, {@code descriptor} and {@code load}
 * are written under the registry's lock.
 */
final class Generation {
  private final ProducerIdentity identity;
  private final PoolProducer producer;
  private final HubSlot slot;
  private final Signal cancelled = new Signal();
  private final CompletableFuture<String> fenced = new CompletableFuture<>();
  private volatile PoolHandle.State state = PoolHandle.State.ACTIVE;
  private volatile PoolDescriptor descriptor;
  private volatile @Nullable PoolLoad load;

  Generation(PoolRegistry registry, PoolDescriptor descriptor, PoolProducer producer) {
    this.identity = descriptor.producer();
    this.producer = producer;
    this.descriptor = descriptor;
    this.slot = new HubSlot(producer, error -> registry.fence(this, error.getMessage()));
  }

  ProducerIdentity identity() {
    return identity;
  }

  PoolProducer producer() {
    return producer;
  }

  HubSlot slot() {
    return slot;
  }

  /** Fires when the generation is withdrawn or fenced. */
  Signal cancelled() {
    return cancelled;
  }

  CompletableFuture<String> fenced() {
    return fenced;
  }

  PoolHandle.State state() {
    return state;
  }

  void state(PoolHandle.State next) {
    state = next;
  }

  PoolDescriptor descriptor() {
    return descriptor;
  }

  /** Returns false if nothing changed. */
  boolean describe(List<ModelRegistration> registrations, List<WorkerRole> roles) {
    PoolDescriptor old = descriptor;
    PoolDescriptor next =
        new PoolDescriptor(
            identity, old.servingEndpoint(), registrations, old.querySemantics(), roles);
    descriptor = next;
    return !next.equals(old);
  }

  @Nullable PoolLoad load() {
    return load;
  }

  void load(@Nullable PoolLoad next) {
    load = next;
  }

  /** Null if the generation is active and is the expected one, else why it cannot be served. */
  @Nullable RelayException faultFor(ProducerIdentity expected) {
    if (state != PoolHandle.State.ACTIVE) {
      return notFound(expected);
    }
    return identity.equals(expected)
        ? null
        : new RelayException(
            RelayErrorReason.PRODUCER_CHANGED, expected + " is not active: " + identity + " is");
  }

  static RelayException notFound(ProducerIdentity expected) {
    return new RelayException(
        RelayErrorReason.POOL_NOT_FOUND, "no active pool " + expected.poolId());
  }
}
