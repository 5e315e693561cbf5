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

  /** What is known of each mapping. */
  int[] mappings = {};

  /** Indexes of blocks whose turn comes later. */
  int[] deferred = {};

  /** Indexes of new mappings whose blocks want a slot in the filter. */
  int[] admissions = {};

  /** Indexes of known mappings whose blocks want a slot in the filter. */
  int[] reoffers = {};

  /** Blocks that the filter had no room for. Not tried a second time in one event. */
  final HashSet64 omitted;

  /** Sums of loads that only bring lines into the cache; keeps the compiler from dropping them. */
  long touched;

  Scratch(Memory memory) {
    this.memory = memory;
    this.omitted = new HashSet64(memory);
  }

  /**
   * Makes every array at least {@code length} long. Throws {@link OutOfMemoryError}; the arrays
   * stay usable.
   */
  void ensure(int length) {
    if (length <= reoffers.length) {
      return;
    }
    long capacity = Math.max(FIRST_CAPACITY, length + (length >>> 1));
    keys = memory.longs(capacity);
    hashes = memory.longs(capacity);
    ownerKeys = memory.longs(capacity);
    mixes = memory.longs(capacity);
    positions = memory.ints(capacity);
    ownerPositions = memory.ints(capacity);
    mappings = memory.ints(capacity);
    deferred = memory.ints(capacity);
    admissions = memory.ints(capacity);
    reoffers = memory.ints(capacity);
  }

  long bytes() {
    return (4L * 8 + 6L * 4) * reoffers.length + omitted.bytes();
  }
}
