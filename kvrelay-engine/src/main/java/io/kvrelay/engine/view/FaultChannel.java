package io.kvrelay.engine.view;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** The oldest faults nobody has read. Bounded: when full the newest is dropped, and counted. */
final class FaultChannel {
  private final ArrayDeque<IngestFault> faults = new ArrayDeque<>();
  private final int capacity;
  private long dropped;

  FaultChannel(int capacity) {
    this.capacity = capacity;
  }

  synchronized void offer(IngestFault fault) {
    if (faults.size() < capacity) {
      faults.add(fault);
    } else {
      dropped++;
    }
  }

  /** The oldest unread fault, or null. */
  synchronized @Nullable IngestFault poll() {
    return faults.poll();
  }

  synchronized long dropped() {
    return dropped;
  }
}
