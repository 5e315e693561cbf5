package io.kvrelay.engine.pool;

/**
 * One member's lineage: mixed engine hash → sequence hash.
 *
 * <pre>
 *   long[] table:  | key | value | key | value | ... | zero-key flag | zero-key value |
 *                    slot 0        slot 1              one extra slot
 * </pre>
 *
 * <p>Key and value stand side by side, so that a hit costs one cache line. Probing is linear; a
 * removal shifts the rest of its cluster back, so there are no tombstones and the table never
 * degrades. The home slot is the upper half of the mixed key times the capacity, divided by 2^32
 * (Lemire's multiply-shift reduction): any capacity will do, so the table grows in small steps and
 * runs at a load of 0.78 to 0.875, and since homes are ordered as keys are, growing is a merge that
 * reads and writes forward.
 *
 * <p>Key 0 marks an empty slot. The real key 0 has a slot of its own behind the others, which no
 * probe reaches.
 *
 * <p>Positions are indexes into the table, valid until the next removal or growth. One thread at a
 * time; only {@link #reserve} and {@link #trim} allocate.
 */
final class LineageMap {
  private final Memory memory;
  private long[] table;
  private int capacity;
  private int size;

  LineageMap(Memory memory) {
    this(memory, 0);
  }

  LineageMap(Memory memory, long expected) {
    this.memory = memory;
    this.capacity = Math.toIntExact(TableMath.capacityFor(expected));
    this.table = memory.longs(2L * capacity + 2);
  }

  int size() {
    return size;
  }

  long bytes() {
    return 8L * table.length;
  }

  /** Number of positions to visit, see {@link #isUsed}. */
  int slots() {
    return capacity + 1;
  }

  boolean isUsed(int slot) {
    return table[2 * slot] != 0;
  }

  long valueAtSlot(int slot) {
    return table[2 * slot + 1];
  }

  /** Mixed key in a used slot. */
  long keyAtSlot(int slot) {
    return slot == capacity ? 0 : table[2 * slot];
  }

  /** Loads the home slot's line; the result only keeps the load alive. */
  long touch(long key) {
    return table[2 * TableMath.home(key, capacity)];
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return key != 0 && table[position] == key;
  }

  /** Position of the key, or the complement of the position where it would be inserted. */
  int find(long key) {
    return key == 0 ? findZero() : findFrom(key, 2 * TableMath.home(key, capacity));
  }

  long valueAt(int position) {
    return table[position + 1];
  }

  void setValueAt(int position, long value) {
    table[position + 1] = value;
  }

  /**
   * Inserts a key at or behind a position that {@link #find} gave as a complement since the last
   * removal or growth; room must have been reserved. Other keys may have been inserted since.
   *
   * @return the new position, or the complement of the position where the key already is
   */
  int insertFrom(int start, long key, long value) {
    int position = key == 0 ? findZero() : findFrom(key, start);
    if (position >= 0) {
      return ~position;
    }
    position = ~position;
    table[position] = key == 0 ? 1 : key;
    table[position + 1] = value;
    size++;
    return position;
  }

  /** Takes back the latest {@link #insertFrom} that has not been taken back. */
  void undoInsert(int position) {
    table[position] = 0;
    table[position + 1] = 0;
    size--;
  }

  void removeAt(int position) {
    size--;
    if (position == 2 * capacity) {
      table[position] = 0;
      return;
    }
    closeGap(position);
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

  /**
   * Drops the slots before {@code end} (as {@link #slots} counts them) and keeps the others. For a
   * clear that stopped half way; allocates nothing.
   */
  void dropSlotsBefore(int end) {
    int start = 0;
    while (isUsed(start)) {
      start++;
    }
    for (int slot = 0; slot < end; slot++) {
      if (isUsed(slot)) {
        table[2 * slot] = 0;
        size--;
      }
    }
    settle(start);
  }

  /**
   * Puts every key where a probe finds it after slots have been emptied at will. No key's path
   * crosses {@code start}, which was empty before; behind it each key moves at most back, over
   * slots that have been settled already.
   */
  private void settle(int start) {
    for (int i = 1; i < capacity; i++) {
      int slot = start + i < capacity ? start + i : start + i - capacity;
      long key = table[2 * slot];
      if (key != 0) {
        table[2 * slot] = 0;
        int position = ~findFrom(key, 2 * TableMath.home(key, capacity));
        table[position] = key;
        table[position + 1] = table[2 * slot + 1];
      }
    }
  }

  private int findZero() {
    int position = 2 * capacity;
    return table[position] != 0 ? position : ~position;
  }

  private int findFrom(long key, int start) {
    long[] t = table;
    int end = 2 * capacity;
    int p = start;
    while (true) {
      long k = t[p];
      if (k == key) {
        return p;
      }
      if (k == 0) {
        return ~p;
      }
      p += 2;
      if (p == end) {
        p = 0;
      }
    }
  }

  private void closeGap(int position) {
    long[] t = table;
    int end = 2 * capacity;
    int gap = position;
    int p = position;
    while (true) {
      p += 2;
      if (p == end) {
        p = 0;
      }
      long k = t[p];
      if (k == 0) {
        break;
      }
      int home = 2 * TableMath.home(k, capacity);
      // The key may fill the gap unless its home lies cyclically in (gap, p].
      boolean stays = gap <= p ? gap < home && home <= p : gap < home || home <= p;
      if (!stays) {
        t[gap] = k;
        t[gap + 1] = t[p + 1];
        gap = p;
      }
    }
    t[gap] = 0;
  }

  private void rehash(long newCapacity) {
    long[] next = memory.longs(2 * newCapacity + 2);
    long[] old = table;
    int oldCapacity = capacity;
    capacity = Math.toIntExact(newCapacity);
    table = next;
    next[2 * capacity] = old[2 * oldCapacity];
    next[2 * capacity + 1] = old[2 * oldCapacity + 1];
    for (int p = 0; p < 2 * oldCapacity; p += 2) {
      long key = old[p];
      if (key != 0) {
        int at = ~findFrom(key, 2 * TableMath.home(key, capacity));
        next[at] = key;
        next[at + 1] = old[p + 1];
      }
    }
  }
}
