package io.kvrelay.testkit.sim;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One follower's way. Batches are delivered under its lock, which keeps each publisher's in order;
 * a listener does not block.
 */
final class FaultyLink implements KvEventListener, KvEventSource.Following {
  private record Late(long dueNanos, KvEventBatch batch) {}

  private final FaultyEventSource owner;
  private final RelayRuntime runtime;
  private final KvEventListener listener;

  // Guarded by this.
  private final Map<Long, KvEventBatch> held = new HashMap<>();
  private final Map<Long, Deque<Late>> late = new HashMap<>();
  private KvEventSource.@Nullable Following following;
  private boolean ended;

  FaultyLink(FaultyEventSource owner, RelayRuntime runtime, KvEventListener listener) {
    this.owner = owner;
    this.runtime = runtime;
    this.listener = listener;
  }

  void follow(KvEventSource target, EndpointId endpoint) {
    KvEventSource.Following started = target.follow(endpoint, this);
    synchronized (this) {
      following = started;
    }
  }

  @Override
  public synchronized void onBatch(KvEventBatch batch) {
    if (ended || batch.events().isEmpty()) {
      return;
    }
    long publisher = batch.publisherId();
    KvEventBatch before = held.remove(publisher);
    if (before != null) {
      pass(batch);
      pass(before);
      return;
    }
    LiveFault fault = owner.live().take(publisher);
    if (fault == null) {
      pass(batch);
      return;
    }
    switch (fault) {
      case LOSE -> {}
      case DUPLICATE -> {
        pass(batch);
        pass(batch);
      }
      case REORDER -> held.put(publisher, batch);
      case FOREIGN_RANK -> {
        pass(FaultyEventSource.foreignBatch(batch));
        pass(batch);
      }
      case UNKNOWN_PUBLISHER -> {
        pass(new KvEventBatch(~publisher, batch.events()));
        pass(batch);
      }
    }
  }

  /** Now, or after the delay and what is late already. */
  private void pass(KvEventBatch batch) {
    long delay = owner.liveDelayNanos();
    Deque<Late> queue = late.get(batch.publisherId());
    if (delay == 0 && queue == null) {
      listener.onBatch(batch);
      return;
    }
    late.computeIfAbsent(batch.publisherId(), id -> new ArrayDeque<>())
        .add(new Late(runtime.nanoTime() + delay, batch));
    runtime.schedule(delay, () -> deliverDue(batch.publisherId()));
  }

  private synchronized void deliverDue(long publisher) {
    Deque<Late> queue = late.get(publisher);
    if (ended || queue == null) {
      return;
    }
    while (!queue.isEmpty() && queue.element().dueNanos() - runtime.nanoTime() <= 0) {
      listener.onBatch(queue.remove().batch());
    }
    if (queue.isEmpty()) {
      late.remove(publisher);
    }
  }

  /** Delivers what waits for a successor or for its time. */
  synchronized void releaseHeld() {
    if (ended) {
      return;
    }
    for (Long publisher : List.copyOf(late.keySet())) {
      Deque<Late> queue = Objects.requireNonNull(late.remove(publisher));
      queue.forEach(waiting -> listener.onBatch(waiting.batch()));
    }
    List<KvEventBatch> waiting = new ArrayList<>(held.values());
    held.clear();
    waiting.forEach(listener::onBatch);
  }

  @Override
  public synchronized void onDiscontinuity(long publisherId, String reason) {
    if (!ended) {
      held.remove(publisherId);
      late.remove(publisherId);
      listener.onDiscontinuity(publisherId, reason);
    }
  }

  @Override
  public synchronized void onTrust(long publisherId, SourceTrust trust, String reason) {
    if (!ended) {
      listener.onTrust(publisherId, trust, reason);
    }
  }

  @Override
  public synchronized void onFailure(RelayException error) {
    if (end()) {
      listener.onFailure(error);
    }
  }

  void fail(RelayException error) {
    onFailure(error);
    stopTarget();
  }

  private synchronized boolean end() {
    boolean first = !ended;
    ended = true;
    held.clear();
    late.clear();
    owner.forget(this);
    return first;
  }

  @Override
  public CompletionStage<Void> stop() {
    end();
    return stopTarget();
  }

  private CompletionStage<Void> stopTarget() {
    KvEventSource.Following open;
    synchronized (this) {
      open = following;
    }
    return open == null ? CompletableFuture.completedFuture(null) : open.stop();
  }
}
