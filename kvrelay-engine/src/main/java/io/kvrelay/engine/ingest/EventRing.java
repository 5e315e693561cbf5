package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import java.util.ArrayList;
import java.util.List;

/**
 * The latest events of one rank, fed by one publisher; full, it drops its oldest. Not thread safe.
 */
final class EventRing {
  private final KvEvent[] events;
  private int first;
  private int size;

  EventRing(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("ringCapacity = " + capacity + ": must be positive");
    }
    this.events = new KvEvent[capacity];
  }

  int capacity() {
    return events.length;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** Returns whether the id follows the newest one; the first event always does. */
  boolean add(KvEvent event) {
    boolean follows = size == 0 || event.eventId() == newest() + 1;
    if (size == events.length) {
      events[first] = event;
      first = (first + 1) % events.length;
    } else {
      events[(first + size) % events.length] = event;
      size++;
    }
    return follows;
  }

  /** Id of the newest event; 0 if there is none. */
  long newest() {
    return size == 0 ? 0 : at(size - 1).eventId();
  }

  long oldest() {
    return at(0).eventId();
  }

  private KvEvent at(int index) {
    return events[(first + index) % events.length];
  }

  /** Events from an id on, in stream order. */
  List<KvEvent> from(long start) {
    List<KvEvent> found = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      KvEvent event = at(i);
      if (Long.compareUnsigned(event.eventId(), start) >= 0) {
        found.add(event);
      }
    }
    return found;
  }
}
