package io.kvrelay.engine.pool;

/**
 * One member's lineage: mixed engine hash → sequence hash. A table as {@link Chunks} describes.
 *
 * <pre>
 *   long[] entries, a chunk:  | key 0 | key 1 | key 2 | key 3 | value 0 | value 1 | value 2 | value 3 |
 *   char[] states, a chunk:   | overflow, 12 bits | taken slots, 4 bits |
 * </pre>
 *
 * <p>16.5 bytes a slot. The states are a thirty-third of the table and mostly stay in the cache, so
 * a lookup costs one line.
 *
 * <p>A position is {@code 4 * chunk + slot}. It stays valid until that entry is removed or the
 * table grows. One thread at a time; only {@link #reserve} and {@link #trim} allocate.
 */
final class LineageMap {
  private static final int SLOTS = 4;
  private static final int ALL_TAKEN = 0xF;
  private static final int OVERFLOW_ONE = 0x10;
  private static final int OVERFLOW_MAX = 0xFFF0;

  private final Memory memory;
  private char[] states;
  private long[] entries;
  private int chunks;
  private int size;

  LineageMap(Memory memory) {
    this.memory = memory;
    this.chunks = 2;
    this.states = memory.chars(2);
    this.entries = memory.longs(Chunks.words(2));
  }

  int size() {
    return size;
  }

  long bytes() {
    return 2L * states.length + 8L * entries.length;
  }

  /** Number of positions, used or not. */
  int positions() {
    return SLOTS * chunks;
  }

  boolean isUsed(int position) {
    return (states[position >>> 2] & (1 << (position & 3))) != 0;
  }

  private static int word(int position) {
    return Chunks.PAD + Chunks.WORDS * (position >>> 2) + (position & 3);
  }

  /**
   * Loads the line where the key's search begins, and the next one if the search is likely to go
   * on. The result only keeps the loads alive.
   */
  long touch(long key) {
    int chunk = Chunks.home(key, chunks);
    int goesOn = Chunks.sign((states[chunk] + 1) >>> 4);
    int at = Chunks.PAD + Chunks.WORDS * chunk;
    return entries[at] + entries[at + Chunks.WORDS * goesOn];
  }

  /** Position of the key, or {@link Chunks#NONE}. */
  int find(long key) {
    int chunk = Chunks.home(key, chunks);
    for (int probes = chunks; probes > 0; probes--) {
      int state = states[chunk];
      int equal = equalSlots(chunk, key) & state;
      if (equal != 0) {
        return SLOTS * chunk + Integer.numberOfTrailingZeros(equal);
      }
      if (state < OVERFLOW_ONE) {
        break;
      }
      chunk = Chunks.next(chunk, chunks);
    }
    return Chunks.NONE;
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return isUsed(position) && entries[word(position)] == key;
  }

  long valueAt(int position) {
    return entries[word(position) + SLOTS];
  }

  void setValueAt(int position, long value) {
    entries[word(position) + SLOTS] = value;
  }

  /**
   * Adds a key that was not there before this event. Room must have been reserved.
   *
   * @return its position, or the complement of the position where this event has put it already
   */
  int insert(long key, long value) {
    int chunk = Chunks.home(key, chunks);
    int state = states[chunk];
    while ((state & ALL_TAKEN) == ALL_TAKEN) {
      int present = equalSlots(chunk, key);
      if (present != 0) {
        undoOverflow(key, chunk);
        return ~(SLOTS * chunk + Integer.numberOfTrailingZeros(present));
      }
      if (state < OVERFLOW_MAX) {
        states[chunk] = (char) (state + OVERFLOW_ONE);
      }
      chunk = Chunks.next(chunk, chunks);
      state = states[chunk];
    }
    int present = equalSlots(chunk, key) & state;
    if (present != 0) {
      undoOverflow(key, chunk);
      return ~(SLOTS * chunk + Integer.numberOfTrailingZeros(present));
    }
    size++;
    return occupy(chunk, state, key, value);
  }

  private int equalSlots(int chunk, long key) {
    long[] e = entries;
    int at = Chunks.PAD + Chunks.WORDS * chunk;
    return (e[at] == key ? 1 : 0)
        | (e[at + 1] == key ? 2 : 0)
        | (e[at + 2] == key ? 4 : 0)
        | (e[at + 3] == key ? 8 : 0);
  }

  private int occupy(int chunk, int state, long key, long value) {
    int slot = Integer.numberOfTrailingZeros(~state);
    states[chunk] = (char) (state | (1 << slot));
    int position = SLOTS * chunk + slot;
    int at = word(position);
    entries[at] = key;
    entries[at + SLOTS] = value;
    return position;
  }

  private void undoOverflow(long key, int end) {
    for (int chunk = Chunks.home(key, chunks); chunk != end; chunk = Chunks.next(chunk, chunks)) {
      // At its maximum the counter has lost count: it stays, and only costs probes.
      if (states[chunk] < OVERFLOW_MAX) {
        states[chunk] = (char) (states[chunk] - OVERFLOW_ONE);
      }
    }
  }

  void removeAt(int position) {
    size--;
    int chunk = position >>> 2;
    states[chunk] = (char) (states[chunk] & ~(1 << (position & 3)));
    undoOverflow(entries[word(position)], chunk);
  }

  /**
   * Makes room for more keys. Throws {@link OutOfMemoryError} and changes nothing if there is none.
   *
   * @return whether the table grew, which invalidates every position
   */
  boolean reserve(int additional) {
    long needed = (long) size + additional;
    if (needed <= limit(chunks)) {
      return false;
    }
    rehash(Chunks.grown(chunks, chunksFor(needed)));
    return true;
  }

  /**
   * Gives memory back when less than a third of the table is used. Throws {@link OutOfMemoryError}
   * and changes nothing.
   */
  void trim() {
    if (chunks > 8 && size < limit(chunks) / 3) {
      rehash(chunksFor(size + (size >>> 3)));
    }
  }

  /** Entries that the table may hold: 27 of 32 slots. */
  private static long limit(long chunks) {
    return (chunks * SLOTS * 27) >>> 5;
  }

  private static long chunksFor(long entries) {
    return entries * 32 / (SLOTS * 27) + 1;
  }

  private void rehash(long newChunks) {
    char[] newStates = memory.chars(newChunks);
    long[] newEntries = memory.longs(Chunks.words(newChunks));
    char[] oldStates = states;
    long[] old = entries;
    states = newStates;
    entries = newEntries;
    chunks = (int) newChunks;
    size = 0;
    for (int chunk = 0; chunk < oldStates.length; chunk++) {
      for (int taken = oldStates[chunk] & ALL_TAKEN; taken != 0; taken &= taken - 1) {
        int at = Chunks.PAD + Chunks.WORDS * chunk + Integer.numberOfTrailingZeros(taken);
        insert(old[at], old[at + SLOTS]);
      }
    }
  }
}
