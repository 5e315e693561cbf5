package io.kvrelay.engine.hash;

import java.util.Arrays;

/** Finds a repeated engine hash. A reusable open-addressing set; not thread safe. */
final class DistinctHashes {
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final int MIN_CAPACITY = 64;

  private long[] table = new long[MIN_CAPACITY];

  boolean allDistinct(boolean hasParent, long parent, long[] hashes, int count) {
    int capacity = Math.max(MIN_CAPACITY, Integer.highestOneBit(count + 1) * 4);
    if (table.length < capacity) {
      table = new long[capacity];
    } else {
      Arrays.fill(table, 0, capacity, 0);
    }
    // Zero marks a free slot, so its own occurrences are counted apart.
    int zeros = hasParent && parent == 0 ? 1 : 0;
    if (hasParent && parent != 0) {
      add(parent, capacity);
    }
    for (int i = 0; i < count; i++) {
      long hash = hashes[i];
      if (hash == 0 ? ++zeros > 1 : !add(hash, capacity)) {
        return false;
      }
    }
    return true;
  }

  private boolean add(long hash, int capacity) {
    int mask = capacity - 1;
    int slot = (int) ((hash * MULTIPLIER) >>> 32) & mask;
    while (table[slot] != 0) {
      if (table[slot] == hash) {
        return false;
      }
      slot = (slot + 1) & mask;
    }
    table[slot] = hash;
    return true;
  }
}
