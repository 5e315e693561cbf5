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

  /** Answers that fit the fields of one word; see {@link #found}. */
  private static final int FOUND_FIELD = 16;

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
      holders |= presence(slot, 1, lane) << lane;
    }
    return holders;
  }

  private long holdersInRow(int slot) {
    long holders = 0;
    for (int lane = 0; lane < width; lane += FOUND_FIELD) {
      holders |= holdersFrom(slot, lane, Math.min(FOUND_FIELD, width - lane)) << lane;
    }
    return holders;
  }

  private long holdersFrom(int slot, int from, int count) {
    TransposedTable words = table;
    int a = rowA[slot] + from;
    int b = rowB[slot] + from;
    long wanted = pattern[slot];
    long found = 0;
    for (int i = 0; i < count; i += 4) {
      long first = found(words.word(a + i), words.word(b + i), wanted);
      long second = found(words.word(a + i + 1), words.word(b + i + 1), wanted);
      long third = found(words.word(a + i + 2), words.word(b + i + 2), wanted);
      long fourth = found(words.word(a + i + 3), words.word(b + i + 3), wanted);
      found |= (first >>> 3 | second >>> 2 | third >>> 1 | fourth) >>> (FOUND_FIELD - 4 - i);
    }
    return gather(found);
  }

  /** Bit i: the lane holds the hash of slot {@code from + i}. At most 16 slots. */
  long presence(int from, int count, int lane) {
    TransposedTable words = table;
    long found = 0;
    for (int i = 0; i < count; i++) {
      int slot = from + i;
      found |=
          found(words.word(rowA[slot] + lane), words.word(rowB[slot] + lane), pattern[slot])
              >>> (FOUND_FIELD - 1 - i);
    }
    return gather(found);
  }

  /**
   * Whether a slot of either word equals the fingerprint in every slot of {@code wanted}: then at
   * least one of bits 15, 31, 47 and 63 is set, the borrow bits of the zero-slot test. Which one is
   * not exact, that there is one is, and only that is asked.
   *
   * <p>Sixteen such answers, each moved to another bit of the four 16-bit fields, are gathered into
   * one mask by folding the fields together, instead of turning each into a bit of its own.
   */
  private static long found(long a, long b, long wanted) {
    long x = a ^ wanted;
    long y = b ^ wanted;
    return (((x - ONES) & ~x) | ((y - ONES) & ~y)) & HIGHS;
  }

  private static long gather(long found) {
    long halves = found | found >>> 32;
    return (halves | halves >>> 16) & 0xFFFF;
  }
}
