package io.kvrelay.engine.pool;

/**
 * What the two open-addressing tables of a pool have in common: how keys are spread, and how a word
 * of tags is read.
 *
 * <p>Keys are mixed by a bijection before they come here: nothing is lost, and no key is hashed
 * twice. The home chunk is the upper half of the mixed key times the number of chunks, divided by
 * 2^32 (Lemire's reduction): any number of chunks will do, so a large table grows by a little and
 * runs nearly full, and since homes are ordered as keys are, growing reads and writes forward.
 *
 * <pre>
 *   tags of a chunk, a long:  | tag 0 | tag 1 | ... | tag 6 | strays |      one byte each
 *   tag:                      0 for an empty slot, else 0x80 and the lower 7 bits of the key
 * </pre>
 */
final class Chunks {
  /** Slots of a chunk. */
  static final int SLOTS = 7;

  /** What a lookup returns for a key that is not there. */
  static final int NONE = -1;

  /** In a word of tags, the top bit of each slot: set if it is taken. */
  static final long TAKEN = 0x0080_8080_8080_8080L;

  private static final long BYTES = 0x0101_0101_0101_0101L;
  private static final long TAG_BITS = 0x7F7F_7F7F_7F7F_7F7FL;
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

  /** The tag of a key's taken slot. */
  static long tag(long key) {
    return (key & 0x7F) | 0x80;
  }

  /** The top bits of the slots whose tag is the key's. */
  static long matches(long tags, long key) {
    // A byte of the difference is 0 if its top bit is 0 and adding 0x7F to the others sets it not.
    long difference = tags ^ (tag(key) * BYTES);
    return ~(((difference & TAG_BITS) + TAG_BITS) | difference) & TAKEN;
  }

  /** The slot of the lowest bit that is set. */
  static int slot(long topBits) {
    return Long.numberOfTrailingZeros(topBits) >>> 3;
  }
}
