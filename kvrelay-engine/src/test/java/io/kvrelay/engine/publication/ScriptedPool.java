package io.kvrelay.engine.publication;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.pool.DeltaReceiver;
import io.kvrelay.engine.pool.PoolDelta;
import io.kvrelay.engine.pool.PoolProducer;
import io.kvrelay.engine.pool.PoolSnapshot;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A pool that a test drives by hand: real words, sequence and lease, no events. */
final class ScriptedPool implements PoolProducer {
  final ProducerIdentity identity;
  final long[] words;
  long sequence;
  LaneLease lease;
  Channel channel;
  String fenceReason;
  int subscriptions;
  boolean keepHistory;
  private final Map<Long, long[]> history = new HashMap<>();
  final List<LaneLease> retired = new ArrayList<>();
  final CompletableFuture<Void> terminated = new CompletableFuture<>();

  /** While true, snapshots are not answered. */
  boolean holdSnapshots;

  final Deque<Runnable> heldSnapshots = new ArrayDeque<>();
  RuntimeException failNextSnapshot;
  RuntimeException failRetire;

  /** What the next snapshot claims to be. */
  ProducerIdentity snapshotIdentity;

  LaneLease snapshotLease;

  ScriptedPool(ProducerIdentity identity) {
    this.identity = identity;
    this.words = new long[identity.format().bucketCount()];
  }

  @Override
  public ProducerIdentity identity() {
    return identity;
  }

  @Override
  public synchronized CompletionStage<PoolSnapshot> subscribe(LaneLease newLease) {
    subscriptions++;
    if (failNextSnapshot != null) {
      CompletableFuture<PoolSnapshot> failed = CompletableFuture.failedFuture(failNextSnapshot);
      failNextSnapshot = null;
      return failed;
    }
    CompletableFuture<PoolSnapshot> stage = new CompletableFuture<>();
    Runnable answer = () -> stage.complete(snapshot(newLease));
    if (holdSnapshots) {
      heldSnapshots.add(answer);
    } else {
      answer.run();
    }
    return stage;
  }

  void answerHeldSnapshots() {
    holdSnapshots = false;
    while (!heldSnapshots.isEmpty()) {
      heldSnapshots.poll().run();
    }
  }

  /** The words at a sequence, for pools small enough to remember. */
  long[] wordsAt(long at) {
    return history.getOrDefault(at, new long[words.length]);
  }

  private synchronized PoolSnapshot snapshot(LaneLease newLease) {
    if (channel != null) {
      channel.end();
    }
    lease = newLease;
    channel = new Channel();
    return new PoolSnapshot(
        snapshotIdentity == null ? identity : snapshotIdentity,
        snapshotLease == null ? newLease : snapshotLease,
        sequence,
        words.clone(),
        channel);
  }

  @Override
  public synchronized CompletionStage<Void> retireLease(LaneLease old) {
    if (old.equals(lease)) {
      retired.add(old);
      lease = null;
      channel.end();
    }
    return failRetire == null
        ? CompletableFuture.completedFuture(null)
        : CompletableFuture.failedFuture(failRetire);
  }

  @Override
  public synchronized void fence(String reason) {
    if (fenceReason == null) {
      fenceReason = reason;
      lease = null;
      if (channel != null) {
        channel.end();
      }
      terminated.complete(null);
    }
  }

  @Override
  public CompletionStage<Void> terminated() {
    return terminated;
  }

  /** Writes one bucket and publishes it. */
  void publish(int bucket, long word) {
    publish(new int[] {bucket}, new long[] {word});
  }

  synchronized void publish(int[] buckets, long[] images) {
    for (int i = 0; i < buckets.length; i++) {
      words[buckets[i]] = images[i];
    }
    if (lease != null && fenceReason == null) {
      PoolDelta delta = new PoolDelta(identity, lease, sequence, sequence + 1, buckets, images);
      sequence++;
      remember();
      send(delta);
    } else {
      remember();
    }
  }

  private void remember() {
    if (keepHistory) {
      history.put(sequence, words.clone());
    }
  }

  /** Sends whatever a faulty pool might send. */
  void send(PoolDelta delta) {
    channel.offer(delta);
  }

  /** The channel of one lease, with the bound of the real one. */
  static final class Channel implements DeltaReceiver {
    private final Deque<PoolDelta> waiting = new ArrayDeque<>();
    private boolean overrun;
    private boolean closed;
    private boolean receiverClosed;
    private Runnable wake = () -> {};

    private void offer(PoolDelta delta) {
      Runnable toWake;
      synchronized (this) {
        if (closed || receiverClosed) {
          return;
        }
        if (waiting.size() == CAPACITY) {
          waiting.poll();
          overrun = true;
        }
        waiting.add(delta);
        toWake = wake;
      }
      toWake.run();
    }

    void end() {
      Runnable toWake;
      synchronized (this) {
        closed = true;
        toWake = wake;
      }
      toWake.run();
    }

    boolean isReceiverClosed() {
      return receiverClosed;
    }

    @Override
    public synchronized PoolDelta poll() {
      return waiting.poll();
    }

    @Override
    public synchronized boolean isOverrun() {
      return overrun;
    }

    @Override
    public synchronized boolean isClosed() {
      return closed;
    }

    @Override
    public void onSignal(Runnable callback) {
      boolean pending;
      synchronized (this) {
        wake = callback;
        pending = overrun || closed || !waiting.isEmpty();
      }
      if (pending) {
        callback.run();
      }
    }

    @Override
    public synchronized void close() {
      receiverClosed = true;
    }
  }
}
