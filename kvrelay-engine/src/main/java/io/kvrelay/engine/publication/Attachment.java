package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.pool.PoolProducer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One attach between its reservation and its entry: waits for an allocation permit, makes the
 * producer on the executor, and either installs it or gives the reservation back.
 */
final class Attachment {
  private final PoolRegistry registry;
  private final PoolSpec spec;
  private final ProducerIdentity identity;
  private final Function<ProducerIdentity, PoolProducer> factory;
  private final CompletableFuture<PoolHandle> future = new CompletableFuture<>();
  private final AtomicBoolean submitted = new AtomicBoolean();
  private volatile Permits.@Nullable Ticket permit;

  Attachment(
      PoolRegistry registry,
      PoolSpec spec,
      ProducerIdentity identity,
      Function<ProducerIdentity, PoolProducer> factory) {
    this.registry = registry;
    this.spec = spec;
    this.identity = identity;
    this.factory = factory;
  }

  CompletableFuture<PoolHandle> future() {
    return future;
  }

  void start() {
    permit = registry.context().allocationPermits().acquire(this::proceed);
    proceed();
  }

  private void proceed() {
    Permits.Ticket held = permit;
    if (held == null || !held.isGranted() || !submitted.compareAndSet(false, true)) {
      return; // a grant that is faster than the assignment is seen by start()
    }
    try {
      registry.context().runtime().executor().execute(() -> allocate(held));
    } catch (RejectedExecutionException stopped) {
      held.close();
      fail(new RelayException(RelayErrorReason.CLOSED, "the executor was stopped"));
    }
  }

  private void allocate(Permits.Ticket held) {
    try (held) {
      if (future.isDone()) {
        registry.rollBack(spec);
      } else {
        install(factory.apply(identity));
      }
    } catch (RelayException e) {
      fail(e);
    } catch (RuntimeException | Error e) {
      fail(
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the pool of " + identity + " could not be made: " + e,
              e));
    }
  }

  private void install(PoolProducer producer) {
    PoolHandle handle;
    try {
      handle = registry.install(spec, identity, producer);
    } catch (RelayException refused) {
      producer.fence("it was not attached");
      throw refused;
    }
    if (!future.complete(handle)) {
      handle.remove();
      producer.fence("its attachment was cancelled");
    }
  }

  private void fail(RelayException error) {
    registry.rollBack(spec);
    future.completeExceptionally(error);
  }
}
