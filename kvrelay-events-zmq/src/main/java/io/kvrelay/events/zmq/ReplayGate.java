package io.kvrelay.events.zmq;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Bounds how many replays run at once, and spreads their beginnings: many ranks that join together
 * would overload both sides. First come, first served, after a delay of chance. Not thread safe.
 */
final class ReplayGate<K> {
  private final int permits;

  /** Who waits, and from when on it may begin. */
  private final Map<K, Long> waiting = new LinkedHashMap<>();

  private int running;

  ReplayGate(int permits) {
    this.permits = permits;
  }

  /** Queues up; an older place in the queue is kept. */
  void ask(K key, long notBefore) {
    waiting.putIfAbsent(key, notBefore);
  }

  /** Leaves the queue. */
  void leave(K key) {
    waiting.remove(key);
  }

  /** Gives a permit back. */
  void done() {
    running--;
  }

  /** Who may begin now, with its permit; null if nobody may. */
  @Nullable K next(long now) {
    if (running == permits) {
      return null;
    }
    for (Map.Entry<K, Long> entry : waiting.entrySet()) {
      if (now - entry.getValue() >= 0) {
        K key = entry.getKey();
        waiting.remove(key);
        running++;
        return key;
      }
    }
    return null;
  }

  boolean isIdle() {
    return waiting.isEmpty();
  }
}
