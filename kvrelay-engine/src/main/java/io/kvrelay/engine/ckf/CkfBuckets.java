package io.kvrelay.engine.ckf;

/**
 * Reads and writes one packed bucket: a 64-bit word of four 16-bit slots, slot 0 in the low bits, 0
 * meaning empty.
 *
 * <p>All four slots are examined at once. The zero test is the classic one of subtracting one from
 * every slot and keeping the borrows; a borrow may run into the next higher slot, so only the
 * <em>lowest</em> reported slot is exact, and only that one is used: "first" always means the
 * lowest slot.
 *
 * <p>Stateless, allocates nothing.
 */
public final class CkfBuckets {
  /** What {@link #firstEmpty} and {@link #firstMatch} return when there is none. */
  public static final int NONE = 4;

  private static final long ONES = 0x0001_0001_0001_0001L;
  private static final long HIGHS = 0x8000_8000_8000_8000L;

  private CkfBuckets() {}

  /**
   * Whether a slot holds the fingerprint.
   *
   * @param word the bucket
   * @param fingerprint 1..65535
   * @return true if at least one slot equals it
   */
  public static boolean contains(long word, int fingerprint) {
    return zeroSlots(word ^ (fingerprint * ONES)) != 0;
  }

  /**
   * The first slot that holds the fingerprint.
   *
   * @param word the bucket
   * @param fingerprint 1..65535
   * @return 0..3, or {@link #NONE}
   */
  public static int firstMatch(long word, int fingerprint) {
    return firstZero(word ^ (fingerprint * ONES));
  }

  /**
   * The first empty slot.
   *
   * @param word the bucket
   * @return 0..3, or {@link #NONE}
   */
  public static int firstEmpty(long word) {
    return firstZero(word);
  }

  /**
   * The content of one slot.
   *
   * @param word the bucket
   * @param slot 0..3
   * @return the fingerprint, 0 if empty
   */
  public static int fingerprint(long word, int slot) {
    return (int) (word >>> (slot << 4)) & 0xFFFF;
  }

  /**
   * The bucket with one slot replaced.
   *
   * @param word the bucket
   * @param slot 0..3
   * @param fingerprint the new content; 0 empties the slot
   * @return the new word
   */
  public static long with(long word, int slot, int fingerprint) {
    int shift = slot << 4;
    return (word & ~(0xFFFFL << shift)) | ((long) fingerprint << shift);
  }

  /**
   * How many slots are taken.
   *
   * @param word the bucket
   * @return 0..4
   */
  public static int occupied(long word) {
    // Fold each slot's bits onto its lowest one; no borrow or carry leaves a slot.
    long any = ((word & ~HIGHS) + ~HIGHS) | word;
    return Long.bitCount(any & HIGHS);
  }

  private static int firstZero(long word) {
    // No zero slot: 64 trailing zeros of 0, and 64 >>> 4 is NONE.
    return Long.numberOfTrailingZeros(zeroSlots(word)) >>> 4;
  }

  private static long zeroSlots(long word) {
    return (word - ONES) & ~word & HIGHS;
  }
}
