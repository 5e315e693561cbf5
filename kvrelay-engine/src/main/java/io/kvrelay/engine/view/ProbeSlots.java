package io.kvrelay.engine.view;

import io.kvrelay.engine.ckf.CkfAddressing;

/**
 * Probes under way: each slot holds where one sequence hash may lie, and which words would prove
 * it. Filling a slot costs hashing, touching it starts its loads, and only looking at it waits for
 * them; a search fills and touches many before it looks at one.
 *
 * <p>One probe reads two rows. For lanes 0 to 7 that is two cache lines, whatever else the row
 * holds.
 *
 * <p>Not thread safe; allocates nothing.
 */
final class ProbeSlots {
  private static final long ONES = 0x0001_0001_0001_0001L;
  private static final long HIGHS = 0x8000_8000_8000_8000L;
  private static final int WORDS_PER_LINE = 8;
  private static final long LINE_OF_LANES = 0xFF;

  /** Two rows of 64 lanes. */
  private static final int LINES_PER_SLOT = 16;

  /** Up to so many open lanes are looked at one by one, more by walking the row. */
  private static final int FEW_LANES = 3;

  private final int[] rowA;
  private final int[] rowB;
  private final long[] pattern;
  private final int[] lines;
  private int listed;
  private TransposedTable table;
  private CkfAddressing addressing;
  private int width;

  ProbeSlots(int capacity, LaneIndex index) {
    rowA = new int[capacity];
    rowB = new int[capacity];
    pattern = new long[capacity];
    lines = new int[capacity * LINES_PER_SLOT + 2]; // see fill: an append of nothing writes
    table = index.table();
    addressing = index.addressing();
    width = table.width();
  }

  void aim(LaneIndex index) {
    table = index.table();
    addressing = index.addressing();
    width = table.width();
  }

  /** Fills a slot and lists the lines that hold some of the lanes. */
  void fill(int slot, long sequenceHash, long lanes) {
    long mix = addressing.mix(sequenceHash);
    int fingerprint = CkfAddressing.fingerprint(mix);
    int bucket = addressing.bucketA(mix);
    int a = table.row(bucket);
    int b = table.row(addressing.alternate(bucket, fingerprint));
    rowA[slot] = a;
    rowB[slot] = b;
    pattern[slot] = fingerprint * ONES;
    int count = listed;
    for (int lane = 0; lane < width; lane += WORDS_PER_LINE) {
      lines[count] = a + lane;
      lines[count + 1] = b + lane;
      long some = lanes >>> lane & LINE_OF_LANES;
      count += (int) (-some >>> 63) << 1;
    }
    listed = count;
  }

  /**
   * Starts the loads of all listed lines. A loop of nothing but loads: the processor looks only a
   * few hundred instructions ahead of a load that it waits for, and every other one in between
   * would take the place of another load.
   *
   * @return nothing of meaning: it keeps the loads alive
   */
  long pull() {
    TransposedTable words = table;
    int[] wanted = lines;
    int count = listed;
    long pulled = 0;
    for (int i = 0; i < count; i++) {
      pulled ^= words.word(wanted[i]);
    }
    listed = 0;
    return pulled;
  }

  /** Which of the lanes hold a slot's hash. */
  long holders(int slot, long lanes) {
    return Long.bitCount(lanes) <= FEW_LANES || width < 4
        ? holdersAmong(slot, lanes)
        : holdersInRow(slot) & lanes;
  }

  private long holdersAmong(int slot, long lanes) {
    long holders = 0;
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      holders |= present(slot, lane) << lane;
    }
    return holders;
  }

  private long holdersInRow(int slot) {
    TransposedTable words = table;
    int a = rowA[slot];
    int b = rowB[slot];
    long wanted = pattern[slot];
    long holders = 0;
    for (int lane = 0; lane < width; lane += 4) {
      long first = present(words.word(a + lane), words.word(b + lane), wanted);
      long second = present(words.word(a + lane + 1), words.word(b + lane + 1), wanted);
      long third = present(words.word(a + lane + 2), words.word(b + lane + 2), wanted);
      long fourth = present(words.word(a + lane + 3), words.word(b + lane + 3), wanted);
      holders |= (first | second << 1 | third << 2 | fourth << 3) << lane;
    }
    return holders;
  }

  /** Bit i: the lane holds the hash of slot {@code from + i}. At most 64 slots. */
  long presence(int from, int count, int lane) {
    long presence = 0;
    for (int i = 0; i < count; i++) {
      presence |= present(from + i, lane) << i;
    }
    return presence;
  }

  private long present(int slot, int lane) {
    return present(table.word(rowA[slot] + lane), table.word(rowB[slot] + lane), pattern[slot]);
  }

  /**
   * 1 if a slot of either word equals the fingerprint in every slot of {@code wanted}, else 0. The
   * zero-slot test of both words at once: its answer "some slot" is exact, and that is all that is
   * asked. Only bits 15, 31, 47 and 63 can be set, so the sign of {@code -found} tells.
   */
  private static long present(long a, long b, long wanted) {
    long x = a ^ wanted;
    long y = b ^ wanted;
    long found = (((x - ONES) & ~x) | ((y - ONES) & ~y)) & HIGHS;
    return (found | -found) >>> 63;
  }
}
