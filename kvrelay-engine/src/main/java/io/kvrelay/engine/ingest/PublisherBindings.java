package io.kvrelay.engine.ingest;

import org.jspecify.annotations.Nullable;

/**
 * Publisher id → binding. Read once per batch by providers' threads, without a lock and without
 * allocation; written rarely, by copying. Open addressing, at most half full.
 *
 * <pre>
 *   field   written by          read by
 *   table   under the monitor   any thread   (volatile; a table never changes)
 * </pre>
 */
final class PublisherBindings {
  private static final int FIRST_CAPACITY = 16;

  private volatile @Nullable Binding[] table = new Binding[FIRST_CAPACITY];
  private int size;

  @Nullable Binding find(long publisherId) {
    @Nullable Binding[] snapshot = table;
    int mask = snapshot.length - 1;
    int at = home(publisherId, mask);
    Binding found = snapshot[at];
    while (found != null && found.publisherId() != publisherId) {
      at = (at + 1) & mask;
      found = snapshot[at];
    }
    return found;
  }

  /** False if the publisher is bound already. */
  synchronized boolean bind(Binding binding) {
    if (find(binding.publisherId()) != null) {
      return false;
    }
    @Nullable Binding[] next = copyWithout(null, size + 1);
    insert(next, binding);
    size++;
    table = next;
    return true;
  }

  /** Nothing happens if the publisher is bound otherwise by now. */
  synchronized void unbind(Binding binding) {
    if (find(binding.publisherId()) == binding) {
      size--;
      table = copyWithout(binding, size);
    }
  }

  private @Nullable Binding[] copyWithout(@Nullable Binding leavingOut, int entries) {
    int capacity = FIRST_CAPACITY;
    while (capacity < 2 * entries) {
      capacity *= 2;
    }
    @Nullable Binding[] next = new Binding[capacity];
    for (Binding binding : table) {
      if (binding != null && binding != leavingOut) {
        insert(next, binding);
      }
    }
    return next;
  }

  private static void insert(@Nullable Binding[] into, Binding binding) {
    int mask = into.length - 1;
    int at = home(binding.publisherId(), mask);
    while (into[at] != null) {
      at = (at + 1) & mask;
    }
    into[at] = binding;
  }

  private static int home(long publisherId, int mask) {
    long mixed = publisherId * 0x9E37_79B9_7F4A_7C15L;
    return (int) (mixed >>> 32) & mask;
  }
}
