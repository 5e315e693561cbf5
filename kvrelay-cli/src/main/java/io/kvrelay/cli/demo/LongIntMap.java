package io.kvrelay.cli.demo;

import java.util.Arrays;

/**
 * Counts and slots by 64-bit hash: open addressing with linear probing, and removal that shifts the
 * rest of a run back, so that nothing is left behind. Values are not negative. One thread.
 */
final class LongIntMap {
  /** What {@link #get} returns for a key that is not there. */
  static final int ABSENT = -1;

  private static final long GOLDEN_RATIO = 0x9E3779B97F4A7C15L;

  private long[] keys;
  private int[] values;
  private int shift;
  private int size;

  LongIntMap(int expected) {
    allocate(tableSize(expected));
  }

  private static int tableSize(int expected) {
    // At most half full.
    return Math.max(16, Integer.highestOneBit(Math.max(1, Math.min(expected, 1 << 28)) * 4 - 1));
  }

  private void allocate(int length) {
    keys = new long[length];
    values = new int[length];
    Arrays.fill(values, ABSENT);
    shift = Long.SIZE - Integer.numberOfTrailingZeros(length);
  }

  int size() {
    return size;
  }

  /** The key's value, or {@link #ABSENT}. */
  int get(long key) {
    return values[find(key)];
  }

  boolean contains(long key) {
    return get(key) != ABSENT;
  }

  void put(long key, int value) {
    int at = find(key);
    if (values[at] == ABSENT) {
      keys[at] = key;
      size++;
    }
    values[at] = value;
    if (size * 2 > keys.length) {
      grow();
    }
  }

  /** Counts one more of a key. */
  void increment(long key) {
    put(key, Math.max(0, get(key)) + 1);
  }

  /** Counts one less of a key, which must be there, and forgets it at zero. */
  void decrement(long key) {
    int at = find(key);
    if (values[at] == ABSENT) {
      throw new IllegalStateException("not counted: " + Long.toUnsignedString(key));
    }
    if (--values[at] == 0) {
      removeAt(at);
    }
  }

  void remove(long key) {
    int at = find(key);
    if (values[at] != ABSENT) {
      removeAt(at);
    }
  }

  void clear() {
    Arrays.fill(values, ABSENT);
    size = 0;
  }

  private int home(long key) {
    return (int) ((key * GOLDEN_RATIO) >>> shift);
  }

  private int find(long key) {
    int mask = keys.length - 1;
    int at = home(key);
    while (values[at] != ABSENT && keys[at] != key) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private void removeAt(int hole) {
    int mask = keys.length - 1;
    size--;
    for (int at = (hole + 1) & mask; values[at] != ABSENT; at = (at + 1) & mask) {
      // An entry may move back into the hole if that is not before its home (cyclically).
      if (((at - home(keys[at])) & mask) >= ((at - hole) & mask)) {
        keys[hole] = keys[at];
        values[hole] = values[at];
        hole = at;
      }
    }
    values[hole] = ABSENT;
  }

  private void grow() {
    long[] oldKeys = keys;
    int[] oldValues = values;
    allocate(oldKeys.length * 2);
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldValues[i] != ABSENT) {
        int at = find(oldKeys[i]);
        keys[at] = oldKeys[i];
        values[at] = oldValues[i];
      }
    }
  }
}
