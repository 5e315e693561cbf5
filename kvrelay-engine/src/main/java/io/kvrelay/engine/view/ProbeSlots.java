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
  /** Slots of one tree, see {@link #fillTree}. */
  static final int TREE = 8;

  static final int MAX_LEVELS = 3;

  private static final long ONES = 0x0001_0001_0001_0001L;
  private static final long HIGHS = 0x8000_8000_8000_8000L;
  private static final int WORDS_PER_LINE = 8;
  private static final long LINE_OF_LANES = 0xFF;

  /** Answers that fit the fields of one word; see {@link #found}. */
  private static final int FOUND_FIELD = 16;

  /** Two rows of 64 lanes. */
  private static final int LINES_PER_SLOT = 16;

  /** Up to so many open lanes are looked at one by one, more by walking the row. */
  static final int FEW_LANES = 3;

  /** What is aimed at between searches: a big table is not kept alive by an idle query. */
  private static final TransposedTable NOWHERE = new TransposedTable(1, 1);

  // The two constants of the word test, in fields: as constants they would be loaded anew for each
  // of the thirty-two words of a row, as fields they are loaded once and stay in registers.
  private final long minusOnes = -ONES;
  private final long highs = HIGHS;

  private final int[] rowA;
  private final int[] rowB;
  private final long[] pattern;
  private final int[] lines;
  private final int[] treeLow = new int[2 * TREE];
  private final int[] treeHigh = new int[2 * TREE];
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

  /** Lets go of the table. */
  void release() {
    table = NOWHERE;
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
    int[] list = lines;
    int count = listed;
    int columns = width;
    for (int lane = 0; lane < columns; lane += WORDS_PER_LINE) {
      list[count] = a + lane;
      list[count + 1] = b + lane;
      long some = lanes >>> lane & LINE_OF_LANES;
      count += (int) (-some >>> 63) << 1;
    }
    listed = count;
  }

  /**
   * Fills consecutive slots with positions {@code step} apart.
   *
   * @param from the first position
   * @param to above the last one
   * @return the slot after the last one
   */
  int fillRange(int slot, HashChain chain, int from, int to, int step, long lanes) {
    int next = slot;
    if (from < to) {
      int last = from + (to - from - 1) / step * step;
      long[] hashes = chain.upTo(last + 1);
      int offset = chain.offset();
      for (int position = from; position <= last; position += step) {
        fill(next++, hashes[offset + position], lanes);
      }
    }
    return next;
  }

  /**
   * Fills the slots of a binary search: slot 1 of a tree with the middle of a bracket, slots {@code
   * 2i} and {@code 2i + 1} with the middles of the halves that slot {@code i} divides.
   *
   * @param levels how many steps of the search, 1..{@value #MAX_LEVELS}
   */
  void fillTree(int tree, HashChain chain, int low, int high, int levels, long lanes) {
    int[] lows = treeLow;
    int[] highs = treeHigh;
    lows[1] = low;
    highs[1] = high;
    for (int node = 1; node < 1 << levels; node++) {
      int from = lows[node];
      int to = highs[node];
      int middle = (from + to) >>> 1;
      fill(tree + node, chain.at(middle), lanes);
      lows[2 * node] = from;
      highs[2 * node] = middle;
      lows[2 * node + 1] = middle;
      highs[2 * node + 1] = to;
    }
  }

  /**
   * Starts the loads of all listed lines. A loop of nothing but loads: the processor looks only a
   * few hundred instructions ahead of a load that it waits for, and every other one in between
   * would take the place of another load. What is loaded decides nothing, so plain loads will do.
   *
   * @return nothing of meaning: it keeps the loads alive
   */
  long pull() {
    long[] words = table.words();
    int[] wanted = lines;
    int count = listed;
    long pulled = 0;
    for (int i = 0; i < count; i++) {
      pulled ^= words[wanted[i]];
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
    long[] words = table.words();
    int a = rowA[slot];
    int b = rowB[slot];
    long wanted = pattern[slot];
    long holders = 0;
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      long found = found(words, a + lane, b + lane, wanted, -ONES, HIGHS);
      holders |= (found | -found) >>> 63 << lane;
    }
    return holders;
  }

  private long holdersInRow(int slot) {
    long[] words = table.words();
    int a = rowA[slot];
    int b = rowB[slot];
    long wanted = pattern[slot];
    int columns = width;
    long holders = 0;
    for (int lane = 0; lane < columns; lane += FOUND_FIELD) {
      int count = Math.min(FOUND_FIELD, columns - lane);
      holders |= holdersFrom(words, a + lane, b + lane, wanted, count) << lane;
    }
    return holders;
  }

  private long holdersFrom(long[] words, int a, int b, long wanted, int count) {
    long minus = minusOnes;
    long high = highs;
    long found = 0;
    for (int i = 0; i < count; i += 4) {
      long first = found(words, a + i, b + i, wanted, minus, high);
      long second = found(words, a + i + 1, b + i + 1, wanted, minus, high);
      long third = found(words, a + i + 2, b + i + 2, wanted, minus, high);
      long fourth = found(words, a + i + 3, b + i + 3, wanted, minus, high);
      found = found >>> 4 | first >>> 3 | second >>> 2 | third >>> 1 | fourth;
    }
    return gather(found >>> (FOUND_FIELD - count));
  }

  /** Bit i: the lane holds the hash of slot {@code from + i}. At most 16 slots. */
  long presence(int from, int count, int lane) {
    long[] words = table.words();
    int[] as = rowA;
    int[] bs = rowB;
    long[] patterns = pattern;
    long found = 0;
    for (int i = 0; i < count; i++) {
      int slot = from + i;
      found |=
          found(words, as[slot] + lane, bs[slot] + lane, patterns[slot], -ONES, HIGHS)
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
  private static long found(long[] words, int a, int b, long wanted, long minusOnes, long highs) {
    long x = TransposedTable.word(words, a) ^ wanted;
    long y = TransposedTable.word(words, b) ^ wanted;
    return (((x + minusOnes) & ~x) | ((y + minusOnes) & ~y)) & highs;
  }

  private static long gather(long found) {
    long halves = found | found >>> 32;
    return (halves | halves >>> 16) & 0xFFFF;
  }
}
