package io.kvrelay.engine.publication;

import io.kvrelay.api.PublicationFrame;
import java.util.concurrent.atomic.LongAdder;

/** What happened so far; only grows. Thread safe, allocates nothing in steady state. */
final class Counters {
  private final LongAdder lagged = new LongAdder();
  private final LongAdder rejectedTotal = new LongAdder();
  private final LongAdder rejectedPerPool = new LongAdder();
  private final LongAdder rejectedHub = new LongAdder();
  private final LongAdder stalledSnapshots = new LongAdder();
  private final LongAdder terminalFailures = new LongAdder();
  private final LongAdder recoveries = new LongAdder();
  private final LongAdder evictions = new LongAdder();
  private final LongAdder encodedDeltas = new LongAdder();
  private final LongAdder encodedDeltaBytes = new LongAdder();
  private final LongAdder encodedChunks = new LongAdder();
  private final LongAdder encodedChunkBytes = new LongAdder();
  private final LongAdder queuedDeltas = new LongAdder();
  private final LongAdder subscriberFaults = new LongAdder();
  private final LongAdder ignoredUpdates = new LongAdder();

  void lagged() {
    lagged.increment();
  }

  void rejectedTotal() {
    rejectedTotal.increment();
  }

  void rejectedPerPool() {
    rejectedPerPool.increment();
  }

  void rejectedHub() {
    rejectedHub.increment();
  }

  void stalledSnapshot() {
    stalledSnapshots.increment();
  }

  void terminalFailure() {
    terminalFailures.increment();
  }

  void recovered() {
    recoveries.increment();
  }

  void evicted() {
    evictions.increment();
  }

  void encoded(PublicationFrame frame) {
    if (frame.kind() == PublicationFrame.Kind.DELTA) {
      encodedDeltas.increment();
      encodedDeltaBytes.add(frame.payloadBytes());
    } else {
      encodedChunks.increment();
      encodedChunkBytes.add(frame.payloadBytes());
    }
  }

  void fannedOut(int subscribers) {
    queuedDeltas.add(subscribers);
  }

  void subscriberFault() {
    subscriberFaults.increment();
  }

  void ignoredUpdate() {
    ignoredUpdates.increment();
  }

  PublicationStatistics.Totals totals() {
    return new PublicationStatistics.Totals(
        lagged.sum(),
        rejectedTotal.sum(),
        rejectedPerPool.sum(),
        rejectedHub.sum(),
        stalledSnapshots.sum(),
        terminalFailures.sum(),
        recoveries.sum(),
        evictions.sum(),
        encodedDeltas.sum(),
        encodedDeltaBytes.sum(),
        encodedChunks.sum(),
        encodedChunkBytes.sum(),
        queuedDeltas.sum(),
        subscriberFaults.sum(),
        ignoredUpdates.sum());
  }
}
