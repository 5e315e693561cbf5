package io.kvrelay.engine.pool;

/**
 * An open-addressing table of chunks of seven slots, where a key may lie in two chunks: its home,
 * and one of the next 64. An insert takes the emptier of the two; if both are full it moves one of
 * their entries to that entry's other chunk.
 *
 * <p>The tags of all slots lie together, an eighth of the table or less, and tell nearly always
 * whether a key is there and where: a lookup reads two words of tags and, if it succeeds, one
 * entry; an insert only writes one. Nothing moves when an entry goes, there are no tombstones, and
 * a table under churn for ever is as good as a fresh one. (Chunks with overflow counters are not: a
 * key that once found its home full stays away when there is room again, and at four fifths of the
 * slots lookups soon pass dozens of chunks.)
 *
 * <p>A key whose two chunks are full of entries that cannot move is a <em>stray</em>: it lies in
 * the first chunk with room behind the second one, and its home counts it. In a full table under
 * churn that is one key of 3000, unless somebody makes keys for it.
 *
 * <p>A position is {@code 8 * chunk + slot}. It stays valid until a key is added or that entry is
 * removed. One thread at a time.
 */
abstract class TwoChoiceTable {
  private static final int WINDOW = 64;
  private static final long STRAY_ONE = 1L << 56;

  /** In a guess: only a search can tell. */
  private static final int SEARCH = 1 << 31;

  /** A home with this many strays has lost count: its number stays, and only costs probes. */
  private static final int STRAYS_MAX = 0xFF;

  /** Below this many chunks a table doubles when it is full. */
  private static final int FEW = 128;

  final Memory memory;
  private final int growthDivisor;

  private long[] tags;
  private int chunks;
  private int window;
  private int limit;
  private int size;
  private int strays;

  // How far behind its second chunk a stray may lie.
  private int reach;

  /**
   * An empty table.
   *
   * @param growthDivisor a full table grows by one part of so many
   */
  TwoChoiceTable(Memory memory, long expected, int growthDivisor) {
    this.memory = memory;
    this.growthDivisor = growthDivisor;
    long needed = chunksFor(expected);
    this.tags = memory.longs(needed);
    shape((int) needed);
  }

  private void shape(int newChunks) {
    chunks = newChunks;
    window = Math.min(WINDOW, newChunks - 1);
    limit = (int) Math.min(Integer.MAX_VALUE, limit(newChunks));
    size = 0;
    strays = 0;
    reach = 0;
  }

  /** Makes new, empty entries for so many slots the table's, and returns the old ones. */
  abstract long[] replaceEntries(long slots);

  /** The key of a taken slot. */
  abstract long keyAt(int position);

  abstract void moveEntry(int from, int to);

  /** Adds the entry that an old table has at a position with this tag. */
  abstract void addOld(int position, long tag, long[] oldEntries);

  final int size() {
    return size;
  }

  /** Keys that can be added before the table grows. */
  final int room() {
    return limit - size;
  }

  /** Keys that lie in neither of their chunks. */
  final int strays() {
    return strays;
  }

  final int chunks() {
    return chunks;
  }

  final long tagBytes() {
    return 8L * tags.length;
  }

  /** Number of positions, used or not, including those that no slot has. */
  final int positions() {
    return 8 * chunks;
  }

  final boolean isUsed(int position) {
    return (tags[position >>> 3] & Chunks.TAKEN & (0x80L << (8 * (position & 7)))) != 0;
  }

  /** Index of a position's slot among all slots. */
  static int index(int position) {
    return position - (position >>> 3);
  }

  final long tagAt(int position) {
    return (tags[position >>> 3] >>> (8 * (position & 7))) & 0xFF;
  }

  final int home(long key) {
    return Chunks.home(key, chunks);
  }

  /** The other chunk of a key, given its home. */
  final int second(int home, long key) {
    int chunk = home + 1 + ((((int) key >>> 16) * window) >>> 16);
    return chunk - (chunks & ~((chunk - chunks) >> 31));
  }

  final long tags(int chunk) {
    return tags[chunk];
  }

  static boolean hasStrays(long homeTags) {
    return homeTags >>> 56 != 0;
  }

  /** Where a key may be, one bit a slot of its two chunks; see {@link #position}. */
  static long candidates(long homeTags, long secondTags, long key) {
    return Chunks.matches(homeTags, key) | (Chunks.matches(secondTags, key) >>> 4);
  }

  /** Position of the lowest candidate. */
  static int position(long candidates, int home, int second) {
    int bit = Long.numberOfTrailingZeros(candidates);
    // Bits 7 of the bytes are the home's, bits 3 the second chunk's.
    int isHome = -((bit >>> 2) & 1);
    return 8 * (second ^ ((second ^ home) & isHome)) + (bit >>> 3);
  }

  /** Loads the tags of a key. The result only keeps the loads alive. */
  final long touch(long key) {
    int home = home(key);
    return tags[home] + tags[second(home, key)];
  }

  /**
   * For each key a guess of where it is, from its tags alone, so after {@link #touch}: 0 if it is
   * not there, its probable position, or a negative number if only a search can tell. Good until
   * the table changes.
   */
  final void guess(long[] keys, int[] guesses, int n) {
    for (int i = 0; i < n; i++) {
      guesses[i] = guess(keys[i]);
    }
  }

  private int guess(long key) {
    int home = home(key);
    int second = second(home, key);
    long homeTags = tags[home];
    long candidates = candidates(homeTags, tags[second], key);
    int any = (int) ((candidates | -candidates) >> 63);
    int position = position(candidates, home, second) & any;
    // Position 0 reads like "not there", and behind a home with strays there are more chunks.
    int isZero = any & ((position - 1) >> 31);
    int hasStrays = (int) (-(homeTags >>> 56) >> 63);
    return position | ((isZero | hasStrays) & SEARCH);
  }

  /** The position to load for a guess. */
  static int load(int guess) {
    return guess & ~SEARCH;
  }

  /** Position of a key that is in neither of its chunks. */
  final int findStray(int second, long key) {
    int chunk = second;
    for (int distance = 1; distance <= reach; distance++) {
      chunk = chunk + 1 == chunks ? 0 : chunk + 1;
      for (long m = Chunks.matches(tags[chunk], key); m != 0; m &= m - 1) {
        int position = 8 * chunk + Chunks.slot(m);
        if (keyAt(position) == key) {
          return position;
        }
      }
    }
    return Chunks.NONE;
  }

  /**
   * Takes a slot for a key that is not there, and grows the table if it is full. Throws {@link
   * OutOfMemoryError} with nothing changed. The caller writes the entry before any other is added.
   */
  final int claim(long key) {
    if (size >= limit) {
      rehash(grown(size + 1L));
    }
    int home = home(key);
    int second = second(home, key);
    int position = claimEmptier(home, second, tags[home], tags[second], key);
    if (position < 0) {
      position = makeRoom(home, second, key);
      size++;
    }
    return position;
  }

  /**
   * Like {@link #claim} for a key that was not there before this event, if that is simple: there is
   * room in the table and in a chunk of the key, and no tag says that this event may have added the
   * key already. Never moves an entry, so entries may be written after other claims.
   *
   * @return its position, or {@link Chunks#NONE} with nothing changed
   */
  final int claimSimple(long key) {
    int home = home(key);
    int second = second(home, key);
    long homeTags = tags[home];
    long secondTags = tags[second];
    boolean simple = candidates(homeTags, secondTags, key) == 0 && size < limit;
    return simple ? claimEmptier(home, second, homeTags, secondTags, key) : Chunks.NONE;
  }

  private int claimEmptier(int home, int second, long homeTags, long secondTags, long key) {
    // All ones if the second chunk is the emptier one: no branch, which nobody could predict.
    int prefersSecond =
        (Long.bitCount(secondTags & Chunks.TAKEN) - Long.bitCount(homeTags & Chunks.TAKEN)) >> 31;
    int chunk = home ^ ((home ^ second) & prefersSecond);
    long chosen = homeTags ^ ((homeTags ^ secondTags) & prefersSecond);
    long free = ~chosen & Chunks.TAKEN;
    if (free == 0) {
      return Chunks.NONE;
    }
    size++;
    int shift = Long.numberOfTrailingZeros(free) - 7;
    tags[chunk] = chosen | (Chunks.tag(key) << shift);
    return 8 * chunk + (shift >>> 3);
  }

  private int makeRoom(int home, int second, long key) {
    int position = moveOneOf(home);
    if (position < 0) {
      position = moveOneOf(second);
    }
    if (position < 0) {
      position = stray(home, second);
    }
    take(position, key);
    return position;
  }

  private void take(int position, long key) {
    tags[position >>> 3] |= Chunks.tag(key) << (8 * (position & 7));
  }

  private void free(int position) {
    tags[position >>> 3] &= ~(0xFFL << (8 * (position & 7)));
  }

  /** Frees a slot of a full chunk, and returns its position or NONE. */
  private int moveOneOf(int chunk) {
    for (int slot = 0; slot < Chunks.SLOTS; slot++) {
      int from = 8 * chunk + slot;
      long key = keyAt(from);
      int home = home(key);
      int second = second(home, key);
      int other = chunk == home ? second : home;
      long room = ~tags[other] & Chunks.TAKEN;
      if (room != 0 && (chunk == home || chunk == second)) {
        int to = 8 * other + Chunks.slot(room);
        moveEntry(from, to);
        take(to, key);
        free(from);
        return from;
      }
    }
    return Chunks.NONE;
  }

  private int stray(int home, int second) {
    int chunk = second;
    int distance = 0;
    long room;
    do {
      chunk = chunk + 1 == chunks ? 0 : chunk + 1;
      distance++;
      room = ~tags[chunk] & Chunks.TAKEN;
    } while (room == 0);
    reach = Math.max(reach, distance);
    strays++;
    if (tags[home] >>> 56 != STRAYS_MAX) {
      tags[home] += STRAY_ONE;
    }
    return 8 * chunk + Chunks.slot(room);
  }

  /** Gives back the slot of a key. */
  final void release(int position, long key) {
    size--;
    free(position);
    if (strays > 0) {
      releaseStray(position >>> 3, key);
    }
  }

  private void releaseStray(int chunk, long key) {
    int home = home(key);
    if (chunk != home && chunk != second(home, key)) {
      strays--;
      if (tags[home] >>> 56 != STRAYS_MAX) {
        tags[home] -= STRAY_ONE;
      }
    }
  }

  /**
   * Makes room for more keys. Throws {@link OutOfMemoryError} and changes nothing if there is none.
   *
   * @return whether the table grew, which invalidates every position
   */
  final boolean reserve(int additional) {
    long needed = (long) size + additional;
    if (needed <= limit) {
      return false;
    }
    rehash(grown(needed));
    return true;
  }

  /**
   * Gives memory back when less than a third of the table is used. Throws {@link OutOfMemoryError}
   * and changes nothing.
   */
  void trim() {
    if (chunks > 8 && size < limit / 3) {
      rehash(chunksFor(size + (size >>> 3)));
    }
  }

  /**
   * Entries that so many chunks may hold: seven of eight slots. At nine of ten one key of 300 would
   * be a stray, at this load one of 3000.
   */
  private static long limit(long ofChunks) {
    return (ofChunks * Chunks.SLOTS * 7) >>> 3;
  }

  private static long chunksFor(long entries) {
    return Math.max(2, entries * 8 / (Chunks.SLOTS * 7) + 1);
  }

  private long grown(long needed) {
    return Math.max(
        chunks < FEW ? chunks * 2L : chunks + chunks / growthDivisor, chunksFor(needed));
  }

  private void rehash(long newChunks) {
    long[] newTags = memory.longs(newChunks);
    long[] oldEntries = replaceEntries(Chunks.SLOTS * newChunks);
    long[] oldTags = tags;
    tags = newTags;
    shape((int) newChunks);
    for (int chunk = 0; chunk < oldTags.length; chunk++) {
      long word = oldTags[chunk];
      for (int slot = 0; slot < Chunks.SLOTS; slot++, word >>>= 8) {
        if ((word & 0x80) != 0) {
          addOld(8 * chunk + slot, word & 0xFF, oldEntries);
        }
      }
    }
  }
}
