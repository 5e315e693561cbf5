package io.kvrelay.cli.demo;

import java.util.function.LongConsumer;

/**
 * The blocks that one engine keeps, at most {@code capacity}, by sequence hash.
 *
 * <p>Least recently used goes first, and a prefix never goes before what continues it: using a
 * request touches its blocks from the last to the first, so a block is always more recent than any
 * block behind it, and the oldest of all is never somebody's parent. One thread.
 */
final class LruBlockCache {
  private static final int NONE = -1;

  private final LongIntMap slots;
  private final long[] hashes;
  private final int[] older;
  private final int[] newer;
  private int oldest = NONE;
  private int newest = NONE;
  private int free;
  private final int[] freeSlots;

  LruBlockCache(int capacity) {
    slots = new LongIntMap(capacity);
    hashes = new long[capacity];
    older = new int[capacity];
    newer = new int[capacity];
    freeSlots = new int[capacity];
    refill();
  }

  private void refill() {
    free = freeSlots.length;
    for (int i = 0; i < free; i++) {
      freeSlots[i] = i;
    }
  }

  int capacity() {
    return hashes.length;
  }

  int size() {
    return slots.size();
  }

  /** Number of leading blocks of a sequence that are here. */
  int match(long[] sequence, int length) {
    int depth = 0;
    while (depth < length && slots.contains(sequence[depth])) {
      depth++;
    }
    return depth;
  }

  /**
   * Uses a sequence: whatever is missing enters, after as many of the oldest blocks have left as
   * that needs.
   *
   * @param sequence the sequence hashes
   * @param length how many, at most {@link #capacity()}
   * @param matched what {@link #match} returned for it
   * @param evicted is told each block that leaves, before anything enters
   */
  void use(long[] sequence, int length, int matched, LongConsumer evicted) {
    // Out of the list, so that making room cannot hit them.
    for (int i = 0; i < matched; i++) {
      unlink(slots.get(sequence[i]));
    }
    while (free < length - matched) {
      evictOldest(evicted);
    }
    for (int i = length - 1; i >= 0; i--) {
      linkNewest(i < matched ? slots.get(sequence[i]) : enter(sequence[i]));
    }
  }

  /** Forgets everything; {@code gone} is told each block. */
  void clear(LongConsumer gone) {
    for (int slot = oldest; slot != NONE; slot = newer[slot]) {
      gone.accept(hashes[slot]);
    }
    slots.clear();
    oldest = NONE;
    newest = NONE;
    refill();
  }

  private void evictOldest(LongConsumer evicted) {
    int slot = oldest;
    unlink(slot);
    slots.remove(hashes[slot]);
    freeSlots[free++] = slot;
    evicted.accept(hashes[slot]);
  }

  private int enter(long hash) {
    int slot = freeSlots[--free];
    hashes[slot] = hash;
    slots.put(hash, slot);
    return slot;
  }

  private void unlink(int slot) {
    int before = older[slot];
    int after = newer[slot];
    if (before == NONE) {
      oldest = after;
    } else {
      newer[before] = after;
    }
    if (after == NONE) {
      newest = before;
    } else {
      older[after] = before;
    }
  }

  private void linkNewest(int slot) {
    older[slot] = newest;
    newer[slot] = NONE;
    if (newest == NONE) {
      oldest = slot;
    } else {
      newer[newest] = slot;
    }
    newest = slot;
  }
}
