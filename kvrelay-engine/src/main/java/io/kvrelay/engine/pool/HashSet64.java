package io.kvrelay.engine.pool;

import java.util.Arrays;

/**
 * A set of mixed hashes for one event: the blocks for which the filter had no room. Empty almost
 * always, and then free. One thread at a time.
 */
final class HashSet64 {
  private long[] table = new long[16];
  private int size;
  private boolean hasZero;

  boolean isEmpty() {
    return size == 0 && !hasZero;
  }

  boolean contains(long key) {
    return key == 0 ? hasZero : table[slot(table, key)] == key;
  }

  void add(long key) {
    if (key == 0) {
      hasZero = true;
      return;
    }
    int slot = slot(table, key);
    if (table[slot] != key) {
      table[slot] = key;
      if (++size > table.length / 2) {
        grow();
      }
    }
  }

  void clear() {
    if (!isEmpty()) {
      Arrays.fill(table, 0);
      size = 0;
      hasZero = false;
    }
  }

  private void grow() {
    long[] next = new long[table.length * 2];
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
