package io.kvrelay.engine.pool;

/**
 * What the two open-addressing tables of a pool have in common.
 *
 * <p>A table is an array of chunks, each one cache line of a few entries, because what a block
 * costs is the number of lines it misses. A lookup compares all entries of the key's home chunk at
 * once. A key whose home chunk is full lies in the next chunk that has room; every full chunk it
 * passed counts it as overflow, and its removal takes that back. So a lookup ends at the first
 * chunk without overflow, nothing moves when an entry goes, there are no tombstones, and a table
 * never degrades. (The overflow counter is the idea of Meta's F14 tables.)
 *
 * <p>Keys are mixed by a bijection before they come here: nothing is lost, and no key is hashed
 * twice. The home chunk is the upper half of the mixed key times the number of chunks, divided by
 * 2^32 (Lemire's reduction): any number of chunks will do, so a large table grows by a sixth and
 * runs nearly full, and since homes are ordered as keys are, growing reads and writes forward.
 *
 * <p>Chunks begin at element {@link #PAD} of their array: behind the 16 bytes of an array's header
 * that is the first line of a large array, which the collectors align. A table that is not aligned
 * works as well and touches a line more.
 */
final class Chunks {
  /** Elements of a {@code long[]} before the first chunk. */
  static final int PAD = 6;

  /** Words of a chunk. */
  static final int WORDS = 8;

  /** What a lookup returns for a key that is not there. */
  static final int NONE = -1;

  /** Below this many chunks a table doubles when it is full. */
  private static final int FEW = 128;

  private static final long ODD_1 = 0x9E3779B97F4A7C15L;
  private static final long ODD_2 = 0xBF58476D1CE4E5B9L;

  private Chunks() {}

  /** Spreads an arbitrary, perhaps sequential, key over 64 bits. Bijective. */
  static long mix(long key) {
    long h = key * ODD_1;
    return (h ^ (h >>> 32)) * ODD_2;
  }

  static int home(long key, int chunks) {
    return (int) (((key >>> 32) * chunks) >>> 32);
  }

  static int next(int chunk, int chunks) {
    return chunk + 1 == chunks ? 0 : chunk + 1;
  }

  /**
   * Elements of an array of so many chunks; two more make a touch of the chunk behind the last one
   * harmless.
   */
  static long words(long chunks) {
    return PAD + WORDS * chunks + 2;
  }

  /** 1 if a number is not zero, else 0; no branch, which nobody could predict. */
  static int sign(int number) {
    return (number | -number) >>> 31;
  }

  /** Chunks to grow to when {@code needed} entries, which take {@code least} chunks, do not fit. */
  static long grown(int chunks, long least) {
    return Math.max(chunks < FEW ? chunks * 2L : chunks + chunks / 6, least);
  }
}
