package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A source's newest relay events, whose ids follow each other. Not thread safe. */
final class HistoryRing {
  private static final int FIRST_SLOTS = 64;

  private final int capacity;
  private @Nullable KvEvent[] slots;
  private int size;
  private int first;

  HistoryRing(int capacity) {
    this.capacity = capacity;
    this.slots = new @Nullable KvEvent[Math.min(capacity, FIRST_SLOTS)];
  }

  void add(KvEvent event) {
    if (capacity == 0) {
      return;
    }
    if (size == slots.length && size < capacity) {
      grow();
    }
    if (size == slots.length) {
      slots[first] = event;
      first = (first + 1) % slots.length;
    } else {
      slots[(first + size++) % slots.length] = event;
    }
  }

  private void grow() {
    @Nullable KvEvent[] wider = new @Nullable KvEvent[Math.min(capacity, 2 * slots.length)];
    for (int i = 0; i < size; i++) {
      wider[i] = slots[(first + i) % slots.length];
    }
    slots = wider;
    first = 0;
  }

  /**
   * The events from an id on.
   *
   * @return null if the first of them is not held any more
   */
  @Nullable List<KvEvent> from(long id, long newest) {
    long count = newest - id + 1;
    if (Long.compareUnsigned(count, size) > 0) {
      return null;
    }
    List<KvEvent> events = new ArrayList<>((int) count);
    for (int i = size - (int) count; i < size; i++) {
      KvEvent event = slots[(first + i) % slots.length];
      if (event != null) {
        events.add(event);
      }
    }
    return events;
  }

  void clear() {
    Arrays.fill(slots, null);
    size = 0;
    first = 0;
  }
}
