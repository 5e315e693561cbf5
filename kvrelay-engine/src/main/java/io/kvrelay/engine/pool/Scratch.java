package io.kvrelay.engine.pool;

/** Working memory of one event at a time, kept between events. Sized before anything is mutated. */
final class Scratch {
  private static final int FIRST_CAPACITY = 256;

  private final Memory memory;

  /** Mixed engine hashes. */
  long[] keys = {};

  /** Sequence hashes. */
  long[] hashes = {};

  /** Mixed sequence hashes. */
  long[] ownerKeys = {};

  /** Filter mixes. */
  long[] mixes = {};

  /** Lineage positions. */
  int[] positions = {};

  /** Owner positions. */
  int[] ownerPositions = {};

  /** Indexes of blocks that want a slot in the filter. */
  int[] admissions = {};

  /** Sums of loads that only bring lines into the cache; keeps the compiler from dropping them. */
  long touched;

  Scratch(Memory memory) {
    this.memory = memory;
  }

  /**
   * Makes every array at least {@code length} long. Throws {@link OutOfMemoryError}; the arrays
   * stay usable.
   */
  void ensure(int length) {
    if (length <= admissions.length) {
      return;
    }
    long capacity = Math.max(FIRST_CAPACITY, length + (length >>> 1));
    keys = memory.longs(capacity);
    hashes = memory.longs(capacity);
    ownerKeys = memory.longs(capacity);
    mixes = memory.longs(capacity);
    positions = memory.ints(capacity);
    ownerPositions = memory.ints(capacity);
    admissions = memory.ints(capacity);
  }

  long bytes() {
    return 8L * (keys.length + hashes.length + ownerKeys.length + mixes.length)
        + 4L * (positions.length + ownerPositions.length + admissions.length);
  }
}
