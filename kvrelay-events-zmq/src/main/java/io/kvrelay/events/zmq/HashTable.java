package io.kvrelay.events.zmq;

import java.util.Arrays;

/**
 * Engine hash → how often it is held, and optionally a second word. Open addressing over primitive
 * arrays: linear probing, and removal that moves later entries back, so there are no tombstones. A
 * slot is free if its count is 0.
 *
 * <p>A slot's index stays valid until the next insertion or removal. Not thread safe; allocates
 * only when it grows.
 */
final class HashTable {
  /** Not in the table. */
  static final int NONE = -1;

  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final int MIN_SLOTS = 16;

  /** A cleared table gives memory back above this. */
  private static final int KEPT_SLOTS = 4096;

  private final boolean hasWords;
  private long[] keys = {};
  private long[] words = {};
  private int[] counts = {};
  private int mask;
  private int size;

  HashTable(boolean hasWords) {
    this.hasWords = hasWords;
    allocate(MIN_SLOTS);
  }

  private void allocate(int slots) {
    keys = new long[slots];
    counts = new int[slots];
    words = hasWords ? new long[slots] : words;
    mask = slots - 1;
  }

  int size() {
    return size;
  }

  /** Number of slots; each may be free. */
  int slots() {
    return keys.length;
  }

  int find(long key) {
    int slot = home(key);
    while (counts[slot] != 0) {
      if (keys[slot] == key) {
        return slot;
      }
      slot = (slot + 1) & mask;
    }
    return NONE;
  }

  boolean contains(long key) {
    return find(key) != NONE;
  }

  private int home(long key) {
    return (int) ((key * MULTIPLIER) >>> 32) & mask;
  }

  /** Adds a key that is not there, held once. */
  void insert(long key, long word) {
    if (size >= keys.length - (keys.length >>> 2)) {
      grow();
    }
    int slot = home(key);
    while (counts[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    put(slot, key, 1, word);
    size++;
  }

  private void put(int slot, long key, int count, long word) {
    keys[slot] = key;
    counts[slot] = count;
    if (hasWords) {
      words[slot] = word;
    }
  }

  private void grow() {
    long[] oldKeys = keys;
    long[] oldWords = words;
    int[] oldCounts = counts;
    allocate(Math.multiplyExact(oldKeys.length, 2));
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldCounts[i] != 0) {
        int slot = home(oldKeys[i]);
        while (counts[slot] != 0) {
          slot = (slot + 1) & mask;
        }
        put(slot, oldKeys[i], oldCounts[i], hasWords ? oldWords[i] : 0);
      }
    }
  }

  boolean isUsed(int slot) {
    return counts[slot] != 0;
  }

  long key(int slot) {
    return keys[slot];
  }

  long word(int slot) {
    return words[slot];
  }

  int count(int slot) {
    return counts[slot];
  }

  /** Holds an entry once more; saturates. */
  void retain(int slot) {
    if (counts[slot] != Integer.MAX_VALUE) {
      counts[slot]++;
    }
  }

  /**
   * Holds an entry once less.
   *
   * @return whether that was the last time: the entry is gone
   */
  boolean release(int slot) {
    if (--counts[slot] != 0) {
      return false;
    }
    counts[slot] = 1;
    remove(slot);
    return true;
  }

  /** Takes an entry out, however often it is held. */
  void remove(int slot) {
    int free = slot;
    int next = (slot + 1) & mask;
    while (counts[next] != 0) {
      // An entry may move back unless its home lies behind the free slot.
      if (((next - home(keys[next])) & mask) >= ((next - free) & mask)) {
        put(free, keys[next], counts[next], hasWords ? words[next] : 0);
        free = next;
      }
      next = (next + 1) & mask;
    }
    counts[free] = 0;
    size--;
  }

  void clear() {
    if (size == 0) {
      return;
    }
    size = 0;
    if (keys.length > KEPT_SLOTS) {
      allocate(MIN_SLOTS);
    } else {
      Arrays.fill(counts, 0);
    }
  }
}
