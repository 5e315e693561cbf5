package io.kvrelay.engine.pool;

import java.util.Arrays;

/**
 * A set of mixed hashes for one event: the blocks for which the filter had no room. Empty almost
 * always, and then free. One thread at a time.
 *
 * <p>It is filled while an event is committed, when nothing may fail any more: a key that finds no
 * memory is forgotten, and its block is tried again if the event names it again.
 */
final class HashSet64 {
  private static final int FEWEST = 16;

  /** A longer table, 8 KiB, does not outlive its event. */
  private static final int LONGEST_KEPT = 1024;

  private final Memory memory;
  private final long[] smallest;
  private long[] table;
  private int size;
  private boolean hasZero;

  HashSet64(Memory memory) {
    this.memory = memory;
    this.smallest = memory.longs(FEWEST);
    this.table = smallest;
  }

  boolean isEmpty() {
    return size == 0 && !hasZero;
  }

  boolean contains(long key) {
    return key == 0 ? hasZero : table[slot(table, key)] == key;
  }

  /** Never throws; see the class. */
  void add(long key) {
    if (key == 0) {
      hasZero = true;
      return;
    }
    if (size >= table.length / 2) {
      grow();
    }
    int slot = slot(table, key);
    if (table[slot] != key && size < table.length - FEWEST / 2) {
      table[slot] = key;
      size++;
    }
  }

  void clear() {
    if (isEmpty()) {
      return;
    }
    if (table.length > LONGEST_KEPT) {
      table = smallest;
    }
    Arrays.fill(table, 0);
    size = 0;
    hasZero = false;
  }

  long bytes() {
    return 8L * table.length;
  }

  private void grow() {
    long[] next;
    try {
      next = memory.longs(table.length * 2L);
    } catch (OutOfMemoryError e) {
      // Lookups get longer until the table is full.
      return;
    }
    for (long key : table) {
      if (key != 0) {
        next[slot(next, key)] = key;
      }
    }
    table = next;
  }

  private static int slot(long[] in, long key) {
    int slot = Chunks.home(key, in.length);
    while (in[slot] != 0 && in[slot] != key) {
      slot = slot + 1 == in.length ? 0 : slot + 1;
    }
    return slot;
  }
}
