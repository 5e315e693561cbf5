package io.kvrelay.transport.inproc;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one stream on their way, in order, each with the time it arrives. Holds few and
 * allocates nothing. Belongs to one pipe's run.
 */
final class Wire<T> {
  /** Messages that may be on their way; what a test duplicates comes on top. */
  static final int WINDOW = 4;

  private static final int SLOTS = 16; // a window, all of it twice, and a heartbeat

  private final @Nullable Object[] messages = new Object[SLOTS];
  private final long[] arrivals = new long[SLOTS];
  private int head;
  private int size;

  int size() {
    return size;
  }

  void add(T message, long arrivesAtNanos) {
    if (size == SLOTS) {
      throw new IllegalStateException("the wire is full");
    }
    int at = (head + size++) % SLOTS;
    messages[at] = message;
    arrivals[at] = arrivesAtNanos;
  }

  /** When the first message arrives; there is one. */
  long headArrivesAt() {
    return arrivals[head];
  }

  @SuppressWarnings("unchecked") // only add() puts anything in
  T take() {
    T message = (T) Objects.requireNonNull(messages[head]);
    messages[head] = null;
    head = (head + 1) % SLOTS;
    size--;
    return message;
  }
}
