package io.kvrelay.events.zmq;

import java.util.ArrayList;
import java.util.List;

/**
 * The events of one message, decoded and not interpreted. Reusable; keeps its events' memory, up to
 * a bound, for the next message.
 */
final class WireBatch {
  private static final int KEPT_EVENTS = 4096;

  private final List<WireEvent> pool = new ArrayList<>();
  private byte[] payload = {};
  private int size;

  /** Unix seconds. */
  double timestamp;

  /** Whether the batch names a rank; an absent one and rank 0 are different things. */
  boolean hasRank;

  /** The rank it names. */
  int rank;

  void reset(byte[] newPayload) {
    payload = newPayload;
    size = 0;
    timestamp = 0;
    hasRank = false;
    rank = 0;
    if (pool.size() > KEPT_EVENTS) {
      pool.subList(KEPT_EVENTS, pool.size()).clear();
    }
  }

  WireEvent add() {
    if (size == pool.size()) {
      pool.add(new WireEvent());
    }
    WireEvent event = pool.get(size++);
    event.reset();
    return event;
  }

  int size() {
    return size;
  }

  WireEvent get(int index) {
    return pool.get(index);
  }

  /** Where the events' texts lie. */
  byte[] payload() {
    return payload;
  }
}
