package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Live events that wait for a recovery, in arrival order, at most 1024. A full buffer loses its
 * oldest arrival whatever its id. Order by id, and removal of duplicates, come only when it is
 * drained.
 *
 * <p>It remembers the highest id it ever saw: eviction by arrival can lose the highest one, and
 * then nothing else would tell that it is missing.
 */
final class RankBuffer {
  static final int CAPACITY = 1024;

  private final ArrayDeque<KvEvent> events = new ArrayDeque<>();
  private boolean hasHighest;
  private long highest;

  /** False if the oldest arrival had to go. */
  boolean add(KvEvent event) {
    boolean full = events.size() == CAPACITY;
    if (full) {
      events.remove();
    }
    events.add(event);
    if (!hasHighest || Long.compareUnsigned(event.eventId(), highest) > 0) {
      hasHighest = true;
      highest = event.eventId();
    }
    return !full;
  }

  int size() {
    return events.size();
  }

  /** Empties it and returns how many events that cost. */
  int clear() {
    int lost = events.size();
    events.clear();
    hasHighest = false;
    return lost;
  }

  /** An event of this id was admitted. */
  void reached(long id) {
    if (hasHighest && Long.compareUnsigned(id, highest) >= 0) {
      hasHighest = false;
    }
  }

  boolean hasHighest() {
    return hasHighest;
  }

  long highest() {
    return highest;
  }

  /** Events above an id, ascending, the first arrival of each. */
  List<KvEvent> tailAfter(long id) {
    List<KvEvent> tail = new ArrayList<>(events.size());
    for (KvEvent event : events) {
      if (Long.compareUnsigned(event.eventId(), id) > 0) {
        tail.add(event);
      }
    }
    tail.sort(Comparator.comparing(KvEvent::eventId, Long::compareUnsigned)); // stable
    List<KvEvent> once = new ArrayList<>(tail.size());
    for (KvEvent event : tail) {
      if (once.isEmpty() || once.get(once.size() - 1).eventId() != event.eventId()) {
        once.add(event);
      }
    }
    return once;
  }
}
