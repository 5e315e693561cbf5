package io.kvrelay.engine.pool;

/**
 * One member's lineage: mixed engine hash → sequence hash.
 *
 * <pre>
 *   long[] entries, a slot:  | key | value |
 * </pre>
 *
 * <p>17.1 bytes a slot with its tag. Only what adds a key, and {@link #reserve} and {@link #trim},
 * allocate.
 */
final class LineageMap extends TwoChoiceTable {
  /** What {@link #put} says: the key was not there, or had this value, or has another. */
  static final int ADDED = 1;

  static final int KNOWN = 0;
  static final int CONFLICT = -1;

  private long[] entries;

  LineageMap(Memory memory) {
    super(memory, 0, 5);
    this.entries = memory.longs(2L * Chunks.SLOTS * chunks());
  }

  long bytes() {
    return tagBytes() + 8L * entries.length;
  }

  private static int word(int position) {
    return 2 * index(position);
  }

  /** Loads the entries that were guessed. The result only keeps the loads alive. */
  long touchEntries(int[] guesses, int n) {
    long[] e = entries;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      sum += e[word(load(guesses[i]))];
    }
    return sum;
  }

  /** Loads the entries that make room first if the homes of these keys are full. */
  long touchHomes(long[] keys, int[] indexes, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
      sum += entries[word(8 * home(keys[indexes[i]]))];
    }
    return sum;
  }

  /** Position of the key, or {@link Chunks#NONE}, given a guess that is still good. */
  int find(long key, int guess) {
    if (guess == 0) {
      return Chunks.NONE;
    }
    return guess > 0 && entries[word(guess)] == key ? guess : find(key);
  }

  /** Position of the key, or {@link Chunks#NONE}. */
  int find(long key) {
    int home = home(key);
    int second = second(home, key);
    long homeTags = tags(home);
    for (long m = candidates(homeTags, tags(second), key); m != 0; m &= m - 1) {
      int position = position(m, home, second);
      if (entries[word(position)] == key) {
        return position;
      }
    }
    return hasStrays(homeTags) ? findStray(second, key) : Chunks.NONE;
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return isUsed(position) && entries[word(position)] == key;
  }

  long valueAt(int position) {
    return entries[word(position) + 1];
  }

  void setValueAt(int position, long value) {
    entries[word(position) + 1] = value;
  }

  /**
   * Adds a mapping unless the key has one. Throws {@link OutOfMemoryError} with nothing changed.
   *
   * @return {@link #ADDED}, {@link #KNOWN} or {@link #CONFLICT}
   */
  int put(long key, long value) {
    int position = find(key);
    if (position >= 0) {
      return valueAt(position) == value ? KNOWN : CONFLICT;
    }
    insert(key, value);
    return ADDED;
  }

  /** Adds a key that is not there. Throws {@link OutOfMemoryError} with nothing changed. */
  int insert(long key, long value) {
    int position = claim(key);
    write(position, key, value);
    return position;
  }

  /** Fills a slot that was claimed. */
  void write(int position, long key, long value) {
    int at = word(position);
    entries[at] = key;
    entries[at + 1] = value;
  }

  void removeAt(int position) {
    release(position, entries[word(position)]);
  }

  @Override
  long keyAt(int position) {
    return entries[word(position)];
  }

  @Override
  void moveEntry(int from, int to) {
    entries[word(to)] = entries[word(from)];
    entries[word(to) + 1] = entries[word(from) + 1];
  }

  @Override
  long[] replaceEntries(long slots) {
    long[] old = entries;
    entries = memory.longs(2 * slots);
    return old;
  }

  @Override
  void addOld(int position, long tag, long[] oldEntries) {
    int at = word(position);
    insert(oldEntries[at], oldEntries[at + 1]);
  }
}
