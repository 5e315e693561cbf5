package io.kvrelay.engine.pool;

/**
 * All owners of a pool: mixed sequence hash → number of mappings onto it, and whether the filter
 * holds it. A table as {@link Chunks} describes.
 *
 * <pre>
 *   long[] entries, a chunk:  | tags and overflow | entry 0 | entry 1 | ... | entry 6 |
 *   tags and overflow:        | tag 0 | tag 1 | ... | tag 6 | overflow |      one byte each
 *   tag:                      0 for an empty slot, else 0x80 and the lower 7 bits of the key
 *   entry:                    | upper 57 bits of the key | count, 6 bits | resident |
 * </pre>
 *
 * <p>9.1 bytes a slot, one line a lookup; tag and entry together compare the whole key. Counts are
 * exact up to 2^32 - 1: from {@link #LARGE} on the entry only says "large" and the count stands in
 * a second table. That is for the blocks of a prompt that more than sixty ranks share.
 *
 * <p>A position is an index of {@code entries}. It stays valid until that entry is removed or the
 * table grows. One thread at a time; only {@link #reserve} and {@link #trim} allocate.
 */
final class OwnerMap {
  /** Largest number of owners of one block. */
  static final long MAX_COUNT = 0xFFFF_FFFFL;

  /** Counts from here on stand in the second table. */
  static final int LARGE = 63;

  private static final int SLOTS = 7;
  private static final long BYTES = 0x0101_0101_0101_0101L;
  private static final long TAKEN = 0x0080_8080_8080_8080L;
  private static final long TAG_BITS = 0x7F7F_7F7F_7F7F_7F7FL;
  private static final long OVERFLOW_ONE = 1L << 56;
  private static final int OVERFLOW_MAX = 0xFF;
  private static final long KEY_BITS = ~0x7FL;
  private static final int COUNT_ONE = 2;
  private static final int RESIDENT = 1;

  private final Memory memory;
  private final LineageMap large;
  private long[] entries;
  private int chunks;
  private int size;
  private int residents;

  OwnerMap(Memory memory, long expected) {
    this.memory = memory;
    this.large = new LineageMap(memory);
    long needed = Math.max(2, chunksFor(expected));
    this.entries = memory.longs(Chunks.words(needed));
    this.chunks = (int) needed;
  }

  int size() {
    return size;
  }

  int residents() {
    return residents;
  }

  long bytes() {
    return 8L * entries.length + large.bytes();
  }

  /** Loads the line where the key's search begins. The result only keeps the load alive. */
  long touch(long key) {
    return entries[Chunks.PAD + Chunks.WORDS * Chunks.home(key, chunks)];
  }

  /**
   * After {@link #touch}: loads the next line if the search is likely to go on. The result only
   * keeps the load alive.
   */
  long touchNext(long key) {
    int chunk = Chunks.home(key, chunks);
    long tags = entries[Chunks.PAD + Chunks.WORDS * chunk];
    // Only of 0 does a subtraction set the top bit: no slot is free.
    int full = (int) (((~tags & TAKEN) - 1) >>> 63);
    int goesOn = full | Chunks.sign((int) (tags >>> 56));
    return entries[Chunks.PAD + Chunks.WORDS * (chunk + goesOn)];
  }

  /** Position of the key, or {@link Chunks#NONE}. */
  int find(long key) {
    int chunk = Chunks.home(key, chunks);
    for (int probes = chunks; probes > 0; probes--) {
      int at = Chunks.PAD + Chunks.WORDS * chunk;
      long tags = entries[at];
      int position = findInChunk(at, tags, key);
      if (position >= 0) {
        return position;
      }
      if (tags >>> 56 == 0) {
        break;
      }
      chunk = Chunks.next(chunk, chunks);
    }
    return Chunks.NONE;
  }

  private int findInChunk(int at, long tags, long key) {
    for (long slots = matches(tags, key); slots != 0; slots &= slots - 1) {
      int position = at + 1 + slot(slots);
      if (((entries[position] ^ key) & KEY_BITS) == 0) {
        return position;
      }
    }
    return Chunks.NONE;
  }

  /** The top bits of the slots whose tag is the key's. */
  private static long matches(long tags, long key) {
    // A byte of the difference is 0 if its top bit is 0 and adding 0x7F to the others sets it not.
    long difference = tags ^ (((key & 0x7F) | 0x80) * BYTES);
    return ~(((difference & TAG_BITS) + TAG_BITS) | difference) & TAKEN;
  }

  private static int slot(long topBits) {
    return Long.numberOfTrailingZeros(topBits) >>> 3;
  }

  /** Whether a position found earlier still holds the key. */
  boolean isAt(int position, long key) {
    return tagAt(position) == ((key & 0x7F) | 0x80) && ((entries[position] ^ key) & KEY_BITS) == 0;
  }

  private long tagAt(int position) {
    int inChunk = (position - Chunks.PAD) & (Chunks.WORDS - 1);
    return (entries[position - inChunk] >>> (8 * (inChunk - 1))) & 0xFF;
  }

  /** Owners of the key at its position: 1..2^32-1. */
  long countAt(int position, long key) {
    int count = inlineCount(position);
    return count < LARGE ? count : large.valueAt(large.find(key));
  }

  private int inlineCount(int position) {
    return (int) (entries[position] >>> 1) & LARGE;
  }

  /** Whether the count stands in the second table. */
  boolean isLarge(int position) {
    return inlineCount(position) == LARGE;
  }

  /** Whether one more owner needs the second table. */
  boolean isNearlyLarge(int position) {
    return inlineCount(position) >= LARGE - 1;
  }

  boolean isResident(int position) {
    return (entries[position] & RESIDENT) != 0;
  }

  /** Whether releasing one owner drops the entry and its copy in the filter. */
  boolean isLastResident(int position) {
    return (entries[position] & ~KEY_BITS) == (COUNT_ONE | RESIDENT);
  }

  void setResident(int position) {
    entries[position] |= RESIDENT;
    residents++;
  }

  /** Adds a key that is not there, with one owner. Room must have been reserved. */
  int insert(long key) {
    size++;
    return put(key, (key & KEY_BITS) | COUNT_ONE);
  }

  /**
   * Adds an owner to a key that was not there before this event: a new entry, or the one that this
   * event has made. Room must have been reserved.
   */
  int addMissing(long key) {
    int chunk = Chunks.home(key, chunks);
    while (true) {
      int at = Chunks.PAD + Chunks.WORDS * chunk;
      long tags = entries[at];
      int present = findInChunk(at, tags, key);
      if (present >= 0) {
        undoOverflow(key, chunk);
        incrementAt(present, key);
        return present;
      }
      if ((~tags & TAKEN) != 0) {
        size++;
        return occupy(at, tags, key, (key & KEY_BITS) | COUNT_ONE);
      }
      countOverflow(at, tags);
      chunk = Chunks.next(chunk, chunks);
    }
  }

  private int put(long key, long entry) {
    int chunk = Chunks.home(key, chunks);
    while (true) {
      int at = Chunks.PAD + Chunks.WORDS * chunk;
      long tags = entries[at];
      if ((~tags & TAKEN) != 0) {
        return occupy(at, tags, key, entry);
      }
      countOverflow(at, tags);
      chunk = Chunks.next(chunk, chunks);
    }
  }

  private int occupy(int at, long tags, long key, long entry) {
    int slot = slot(~tags & TAKEN);
    entries[at] = tags | (((key & 0x7F) | 0x80) << (8 * slot));
    entries[at + 1 + slot] = entry;
    return at + 1 + slot;
  }

  private void countOverflow(int at, long tags) {
    if (tags >>> 56 != OVERFLOW_MAX) {
      entries[at] = tags + OVERFLOW_ONE;
    }
  }

  private void undoOverflow(long key, int end) {
    for (int chunk = Chunks.home(key, chunks); chunk != end; chunk = Chunks.next(chunk, chunks)) {
      int at = Chunks.PAD + Chunks.WORDS * chunk;
      // At its maximum the counter has lost count: it stays, and only costs probes.
      if (entries[at] >>> 56 != OVERFLOW_MAX) {
        entries[at] -= OVERFLOW_ONE;
      }
    }
  }

  private void free(int position, long key) {
    int inChunk = (position - Chunks.PAD) & (Chunks.WORDS - 1);
    int tags = position - inChunk;
    entries[tags] &= ~(0xFFL << (8 * (inChunk - 1)));
    undoOverflow(key, (tags - Chunks.PAD) / Chunks.WORDS);
  }

  /** Adds an owner to a key at its position. The count must not be at its maximum. */
  void incrementAt(int position, long key) {
    int count = inlineCount(position);
    if (count < LARGE) {
      if (count + 1 == LARGE) {
        // A store's plan has reserved it, as a rule.
        large.reserve(1);
        large.insert(key, LARGE);
      }
      entries[position] += COUNT_ONE;
    } else {
      int at = large.find(key);
      large.setValueAt(at, large.valueAt(at) + 1);
    }
  }

  /** Takes one owner away; the last one takes the entry, and its residency, with it. */
  void releaseAt(int position, long key) {
    int count = inlineCount(position);
    if (count == 1) {
      residents -= (int) entries[position] & RESIDENT;
      size--;
      free(position, key);
    } else if (count < LARGE) {
      entries[position] -= COUNT_ONE;
    } else {
      releaseLarge(position, key);
    }
  }

  private void releaseLarge(int position, long key) {
    int at = large.find(key);
    long count = large.valueAt(at) - 1;
    if (count < LARGE) {
      large.removeAt(at);
      entries[position] -= COUNT_ONE;
    } else {
      large.setValueAt(at, count);
    }
  }

  /** Sets a large count; for tests of a number that no test can reach by storing. */
  void setLargeCount(int position, long key, long count) {
    if (!isLarge(position)) {
      large.reserve(1);
      large.insert(key, LARGE);
      entries[position] |= LARGE * (long) COUNT_ONE;
    }
    large.setValueAt(large.find(key), count);
  }

  /**
   * Makes room for more keys, and for more of the known ones to become large. Throws {@link
   * OutOfMemoryError} and changes nothing if there is none.
   *
   * @return whether the table grew, which invalidates every position
   */
  boolean reserve(int additionalKeys, int becomingLarge) {
    large.reserve(becomingLarge);
    long needed = (long) size + additionalKeys;
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
    large.trim();
  }

  /** Entries that the table may hold: 7 of 8 slots. */
  private static long limit(long chunks) {
    return (chunks * SLOTS * 7) >>> 3;
  }

  private static long chunksFor(long entries) {
    return entries * 8 / (SLOTS * 7) + 1;
  }

  private void rehash(long newChunks) {
    long[] next = memory.longs(Chunks.words(newChunks));
    long[] old = entries;
    int oldChunks = chunks;
    entries = next;
    chunks = (int) newChunks;
    for (int chunk = 0; chunk < oldChunks; chunk++) {
      int at = Chunks.PAD + Chunks.WORDS * chunk;
      long tags = old[at];
      for (long taken = tags & TAKEN; taken != 0; taken &= taken - 1) {
        int slot = slot(taken);
        long entry = old[at + 1 + slot];
        put((entry & KEY_BITS) | ((tags >>> (8 * slot)) & 0x7F), entry);
      }
    }
  }
}
