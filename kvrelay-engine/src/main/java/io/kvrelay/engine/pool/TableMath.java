package io.kvrelay.engine.pool;

/**
 * Arithmetic of the open-addressing tables, see the essay in {@link LineageMap}.
 *
 * <p>Keys are stored mixed. The mix is a bijection, so nothing is lost, no key is ever hashed
 * twice, and the home slot is one multiplication of the stored key.
 */
final class TableMath {
  /** Fewest slots of a table. */
  static final int MIN_CAPACITY = 8;

  /**
   * A table below this many slots doubles; a larger one grows by an eighth, which costs little
   * because it is one merge.
   */
  private static final int SMALL = 1024;

  private static final long ODD_1 = 0x9E3779B97F4A7C15L;
  private static final long ODD_2 = 0xBF58476D1CE4E5B9L;

  private TableMath() {}

  /** Spreads an arbitrary, perhaps sequential, key over 64 bits. Bijective; 0 stays 0. */
  static long mix(long key) {
    long h = key * ODD_1;
    return (h ^ (h >>> 32)) * ODD_2;
  }

  /**
   * Home slot of a mixed key: its upper half, scaled to any capacity. Grows with the key, so a
   * rehash is one merge.
   */
  static int home(long mixed, int capacity) {
    return (int) (((mixed >>> 32) * capacity) >>> 32);
  }

  /** Entries that a table of this capacity may hold. */
  static int limit(int capacity) {
    return (int) ((capacity * 7L) >>> 3);
  }

  /**
   * Capacity that holds {@code entries} below the limit, with one slot always empty so that a probe
   * ends.
   */
  static long capacityFor(long entries) {
    return Math.max(MIN_CAPACITY, (entries * 8 + 6) / 7 + 1);
  }

  /** Capacity to grow to when {@code needed} entries no longer fit into {@code capacity}. */
  static long grownCapacity(int capacity, long needed) {
    long step = capacity < SMALL ? capacity * 2L : capacity + (capacity >>> 3);
    return Math.max(step, capacityFor(needed));
  }
}
