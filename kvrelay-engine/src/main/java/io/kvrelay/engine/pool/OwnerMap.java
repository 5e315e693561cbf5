package io.kvrelay.engine.pool;

import java.util.HashMap;
import java.util.Map;

/**
 * All owners of a pool: mixed sequence hash → number of mappings onto it, and whether the filter
 * holds it.
 *
 * <pre>
 *   int[] table:  | key low | key high | count &lt;&lt; 1 | resident | ...      12 bytes a slot
 * </pre>
 *
 * <p>Probing, growth and removal are those of {@link LineageMap}. A slot is empty when its third
 * word is 0: an entry has at least one owner, so every key is storable.
 *
 * <p>A count is exact up to 2^32 - 1. The table holds 31 bits; at {@link #LARGE} and above the true
 * count lies in a side map, which a pool of fewer than two thousand million mappings never touches.
 *
 * <p>Positions are indexes into the table, valid until the next release or growth. One thread at a
 * time; only {@link #reserve} and {@link #trim} allocate.
 */
final class OwnerMap {
  /** Largest number of owners of one block. */
  static final long MAX_COUNT = 0xFFFF_FFFFL;

  /** Counts from here on lie in the side map; the table then holds this value. */
  static final int LARGE = 0x7FFF_FFFF;

  private final Memory memory;
  private final Map<Long, Long> large = new HashMap<>();
  private int[] table;
  private int capacity;
  private int size;
  private int residents;

  OwnerMap(Memory memory, long expected) {
    this.memory = memory;
    this.capacity = Math.toIntExact(TableMath.capacityFor(expected));
    this.table = memory.ints(3L * capacity);
  }

  int size() {
    return size;
  }

  int residents() {
    return residents;
  }

  long bytes() {
    return 4L * table.length;
  }

  /** Loads the home slot's line; the result only keeps the load alive. */
  int touch(long key) {
    return table[3 * TableMath.home(key, capacity)];
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return table[position + 2] != 0
        && table[position] == (int) key
        && table[position + 1] == (int) (key >>> 32);
  }

  /** Position of the key, or the complement of the position where it would be inserted. */
  int find(long key) {
    return findFrom(key, 3 * TableMath.home(key, capacity));
  }

  long countAt(int position) {
    int count = table[position + 2] >>> 1;
    return count == LARGE ? large.getOrDefault(keyAt(position), (long) LARGE) : count;
  }

  boolean isResident(int position) {
    return (table[position + 2] & 1) != 0;
  }

  /** Whether the count is near its maximum at all. */
  boolean isLarge(int position) {
    return table[position + 2] >>> 1 == LARGE;
  }

  /** Whether releasing one owner drops the entry and its copy in the filter. */
  boolean isLastResident(int position) {
    return table[position + 2] == (1 << 1 | 1);
  }

  void setResident(int position) {
    table[position + 2] |= 1;
    residents++;
  }

  /**
   * Adds an owner, at or behind a position that {@link #find} gave since the last release or growth
   * (a complement, or the position of the key itself). Room must have been reserved and the count
   * must not be at its maximum.
   *
   * @return the position of the entry
   */
  int addFrom(int start, long key) {
    int position = findFrom(key, start);
    if (position >= 0) {
      increment(position);
      return position;
    }
    position = ~position;
    table[position] = (int) key;
    table[position + 1] = (int) (key >>> 32);
    table[position + 2] = 1 << 1;
    size++;
    return position;
  }

  /** Takes one owner away; the last one takes the entry, and its residency, with it. */
  void releaseAt(int position) {
    long count = countAt(position);
    if (count == 1) {
      residents -= table[position + 2] & 1;
      size--;
      closeGap(position);
    } else {
      setCount(position, count - 1);
    }
  }

  /**
   * Makes room for more keys. Throws {@link OutOfMemoryError} and changes nothing if there is none.
   *
   * @return whether the table grew, which invalidates every position
   */
  boolean reserve(int additional) {
    long needed = (long) size + additional;
    if (needed <= TableMath.limit(capacity)) {
      return false;
    }
    rehash(TableMath.grownCapacity(capacity, needed));
    return true;
  }

  /** Gives memory back when less than a third of the table is used. */
  void trim() {
    if (capacity > 4 * TableMath.MIN_CAPACITY && size < capacity / 3) {
      rehash(TableMath.capacityFor(size + (size >>> 3)));
    }
  }

  /** Sets a count of at least 1, keeping residency. */
  void setCount(int position, long count) {
    int resident = table[position + 2] & 1;
    if (count < LARGE) {
      if (table[position + 2] >>> 1 == LARGE) {
        large.remove(keyAt(position));
      }
      table[position + 2] = (int) count << 1 | resident;
    } else {
      large.put(keyAt(position), count);
      table[position + 2] = LARGE << 1 | resident;
    }
  }

  private void increment(int position) {
    int meta = table[position + 2];
    if (meta >>> 1 < LARGE - 1) {
      table[position + 2] = meta + 2;
    } else {
      setCount(position, countAt(position) + 1);
    }
  }

  private long keyAt(int position) {
    return ((long) table[position + 1] << 32) | (table[position] & 0xFFFF_FFFFL);
  }

  private int findFrom(long key, int start) {
    int[] t = table;
    int low = (int) key;
    int high = (int) (key >>> 32);
    int p = start;
    while (true) {
      if (t[p + 2] == 0) {
        return ~p;
      }
      if (t[p] == low && t[p + 1] == high) {
        return p;
      }
      p += 3;
      if (p == t.length) {
        p = 0;
      }
    }
  }

  private void closeGap(int position) {
    int[] t = table;
    int gap = position;
    int p = position;
    while (true) {
      p += 3;
      if (p == t.length) {
        p = 0;
      }
      if (t[p + 2] == 0) {
        break;
      }
      int home = 3 * (int) (((t[p + 1] & 0xFFFF_FFFFL) * capacity) >>> 32);
      // The key may fill the gap unless its home lies cyclically in (gap, p].
      boolean stays = gap <= p ? gap < home && home <= p : gap < home || home <= p;
      if (!stays) {
        t[gap] = t[p];
        t[gap + 1] = t[p + 1];
        t[gap + 2] = t[p + 2];
        gap = p;
      }
    }
    t[gap + 2] = 0;
  }

  private void rehash(long newCapacity) {
    int[] next = memory.ints(3 * newCapacity);
    int[] old = table;
    capacity = Math.toIntExact(newCapacity);
    table = next;
    for (int p = 0; p < old.length; p += 3) {
      if (old[p + 2] != 0) {
        long key = ((long) old[p + 1] << 32) | (old[p] & 0xFFFF_FFFFL);
        int at = ~findFrom(key, 3 * TableMath.home(key, capacity));
        next[at] = old[p];
        next[at + 1] = old[p + 1];
        next[at + 2] = old[p + 2];
      }
    }
  }
}
