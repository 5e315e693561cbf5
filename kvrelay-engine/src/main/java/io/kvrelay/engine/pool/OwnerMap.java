package io.kvrelay.engine.pool;

/**
 * All owners of a pool: mixed sequence hash → number of mappings onto it, and whether the filter
 * holds it.
 *
 * <pre>
 *   long[] entries, a slot:  | upper 57 bits of the key | count, 6 bits | resident |
 * </pre>
 *
 * <p>9.1 bytes a slot with its tag; tag and entry together are the whole key. Counts are exact up
 * to 2^32 - 1: from {@link #LARGE} on the entry only says "large" and the count stands in a second
 * table. That is for the blocks of a prompt that more than sixty ranks share.
 *
 * <p>Only what adds an owner, and {@link #trim}, allocate.
 */
final class OwnerMap extends TwoChoiceTable {
  /** Largest number of owners of one block. */
  static final long MAX_COUNT = 0xFFFF_FFFFL;

  /** Counts from here on stand in the second table. */
  static final int LARGE = 63;

  /** What {@link #add} returns when a count is at its maximum. */
  static final int OVERFLOW = -2;

  private static final long KEY_BITS = ~0x7FL;
  private static final int COUNT_ONE = 2;
  private static final int RESIDENT = 1;

  private final LineageMap large;
  private long maxCount = MAX_COUNT;
  private long[] entries;
  private int residents;

  OwnerMap(Memory memory, long expected) {
    super(memory, expected, 3);
    this.large = new LineageMap(memory);
    this.entries = memory.longs((long) Chunks.SLOTS * chunks());
  }

  int residents() {
    return residents;
  }

  long bytes() {
    return tagBytes() + 8L * entries.length + large.bytes();
  }

  /** Loads the entries that were guessed. The result only keeps the loads alive. */
  long touchEntries(int[] guesses, int n) {
    long[] e = entries;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      sum += e[index(load(guesses[i]))];
    }
    return sum;
  }

  /** Position of the key, or {@link Chunks#NONE}, given a guess that is still good. */
  int find(long key, int guess) {
    if (guess == 0) {
      return Chunks.NONE;
    }
    return guess > 0 && ((entries[index(guess)] ^ key) & KEY_BITS) == 0 ? guess : find(key);
  }

  /** Position of the key, or {@link Chunks#NONE}. */
  int find(long key) {
    int home = home(key);
    int second = second(home, key);
    long homeTags = tags(home);
    for (long m = candidates(homeTags, tags(second), key); m != 0; m &= m - 1) {
      int position = position(m, home, second);
      if (((entries[index(position)] ^ key) & KEY_BITS) == 0) {
        return position;
      }
    }
    return hasStrays(homeTags) ? findStray(second, key) : Chunks.NONE;
  }

  /** Position of a key that is there, given where it was. */
  int locate(int position, long key) {
    return isAt(position, key) ? position : find(key);
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return tagAt(position) == Chunks.tag(key) && ((entries[index(position)] ^ key) & KEY_BITS) == 0;
  }

  /** Owners of the key at its position: 1..2^32-1. */
  long countAt(int position, long key) {
    int count = inlineCount(position);
    return count < LARGE ? count : large.valueAt(large.find(key));
  }

  private int inlineCount(int position) {
    return (int) (entries[index(position)] >>> 1) & LARGE;
  }

  boolean isResident(int position) {
    return (entries[index(position)] & RESIDENT) != 0;
  }

  /** Whether releasing one owner drops the entry and its copy in the filter. */
  boolean isLastResident(int position) {
    return (entries[index(position)] & ~KEY_BITS) == (COUNT_ONE | RESIDENT);
  }

  void setResident(int position) {
    entries[index(position)] |= RESIDENT;
    residents++;
  }

  /**
   * Adds an owner to a key, whether it is there or not. Throws {@link OutOfMemoryError} with
   * nothing changed.
   *
   * @return the key's position, or {@link #OVERFLOW} with nothing changed
   */
  int add(long key) {
    int position = find(key);
    if (position < 0) {
      position = claim(key);
      write(position, key);
      return position;
    }
    return increment(position, key) ? position : OVERFLOW;
  }

  /** Fills a slot that was claimed: one owner. */
  void write(int position, long key) {
    entries[index(position)] = (key & KEY_BITS) | COUNT_ONE;
  }

  /**
   * Adds an owner to a key at its position. Throws {@link OutOfMemoryError} with nothing changed.
   *
   * @return false if the count is at its maximum
   */
  boolean increment(int position, long key) {
    int count = inlineCount(position);
    if (count >= LARGE - 1) {
      if (count == LARGE) {
        return incrementLarge(key);
      }
      large.insert(key, LARGE);
    }
    entries[index(position)] += COUNT_ONE;
    return true;
  }

  /** Like {@link #increment}, if that needs only the entry; else false with nothing changed. */
  boolean incrementSimple(int position) {
    if (inlineCount(position) >= LARGE - 1) {
      return false;
    }
    entries[index(position)] += COUNT_ONE;
    return true;
  }

  private boolean incrementLarge(long key) {
    int at = large.find(key);
    long count = large.valueAt(at);
    if (count >= maxCount) {
      return false;
    }
    large.setValueAt(at, count + 1);
    return true;
  }

  /** Takes one owner away; the last one takes the entry, and its residency, with it. */
  void releaseAt(int position, long key) {
    int count = inlineCount(position);
    if (count == 1) {
      residents -= (int) entries[index(position)] & RESIDENT;
      release(position, key);
    } else if (count < LARGE) {
      entries[index(position)] -= COUNT_ONE;
    } else {
      releaseLarge(position, key);
    }
  }

  private void releaseLarge(int position, long key) {
    int at = large.find(key);
    long count = large.valueAt(at) - 1;
    if (count < LARGE) {
      large.removeAt(at);
      entries[index(position)] -= COUNT_ONE;
    } else {
      large.setValueAt(at, count);
    }
  }

  /** Sets a large count; for tests of a number that no test can reach by storing. */
  void setLargeCount(int position, long key, long count) {
    if (inlineCount(position) < LARGE) {
      large.insert(key, LARGE);
      entries[index(position)] |= LARGE * (long) COUNT_ONE;
    }
    large.setValueAt(large.find(key), count);
  }

  /** Makes the largest count smaller than it is; for tests that have not 2^32 members. */
  void limitCounts(long most) {
    maxCount = most;
  }

  long maxCount() {
    return maxCount;
  }

  /** Also of the second table. */
  @Override
  void trim() {
    super.trim();
    large.trim();
  }

  @Override
  long keyAt(int position) {
    return (entries[index(position)] & KEY_BITS) | (tagAt(position) & 0x7F);
  }

  @Override
  void moveEntry(int from, int to) {
    entries[index(to)] = entries[index(from)];
  }

  @Override
  long[] replaceEntries(long slots) {
    long[] old = entries;
    entries = memory.longs(slots);
    return old;
  }

  @Override
  void addOld(int position, long tag, long[] oldEntries) {
    long entry = oldEntries[index(position)];
    entries[index(claim((entry & KEY_BITS) | (tag & 0x7F)))] = entry;
  }
}
