package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait until a pool's replica has reached a sequence.
 *
 * <pre>
 * field     mode       guarded by
 * any       volatile   written in the mailbox; spares replicas the hop while nobody waits
 * waiting   plain      the mailbox
 * closed    plain      the mailbox
 * </pre>
 */
final class SequenceWaiters {
  static final int MAX_WAITING = 4096;

  private record Waiter(PoolId pool, long sequence, CompletableFuture<Void> reached) {}

  private final Executor mailbox;
  private final Function<PoolId, @Nullable PoolSlot> slots;
  private final List<Waiter> waiting = new ArrayList<>();
  private final AtomicBoolean checkScheduled = new AtomicBoolean();
  private @Nullable String closed;
  private volatile boolean any;

  SequenceWaiters(Executor mailbox, Function<PoolId, @Nullable PoolSlot> slots) {
    this.mailbox = mailbox;
    this.slots = slots;
  }

  CompletableFuture<Void> await(PoolId pool, long sequence) {
    CompletableFuture<Void> reached = new CompletableFuture<>();
    mailbox.execute(() -> add(new Waiter(pool, sequence, reached)));
    return reached;
  }

  private void add(Waiter waiter) {
    if (closed != null) {
      waiter.reached().completeExceptionally(new RelayException(RelayErrorReason.CLOSED, closed));
      return;
    }
    waiting.removeIf(other -> other.reached().isDone());
    if (waiting.size() >= MAX_WAITING) {
      waiter
          .reached()
          .completeExceptionally(
              new RelayException(
                  RelayErrorReason.RESOURCE_LIMIT,
                  "waiting = " + waiting.size() + ": no more than " + MAX_WAITING));
      return;
    }
    waiting.add(waiter);
    any = true;
    check();
  }

  /** A replica moved. Called on any thread. */
  void advanced() {
    if (any && checkScheduled.compareAndSet(false, true)) {
      mailbox.execute(
          () -> {
            checkScheduled.set(false);
            check();
          });
    }
  }

  /** In the mailbox. */
  void check() {
    for (Waiter waiter : List.copyOf(waiting)) {
      if (hasReached(waiter)) {
        waiting.remove(waiter);
        waiter.reached().complete(null);
      }
    }
    any = !waiting.isEmpty();
  }

  private boolean hasReached(Waiter waiter) {
    PoolSlot slot = slots.apply(waiter.pool());
    FilterReplica replica = slot == null ? null : slot.replica();
    return replica != null
        && replica.isServing()
        && Long.compareUnsigned(replica.installedSequence(), waiter.sequence()) >= 0;
  }

  /** In the mailbox. */
  void close(String why) {
    closed = why;
    for (Waiter waiter : waiting) {
      waiter.reached().completeExceptionally(new RelayException(RelayErrorReason.CLOSED, why));
    }
    waiting.clear();
    any = false;
  }
}
