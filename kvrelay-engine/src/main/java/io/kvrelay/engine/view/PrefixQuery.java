package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import java.util.Objects;

/**
 * Prefix search over one index: how many leading blocks does each ready lane probably hold?
 *
 * <p>Reusable and not thread safe: each search replaces the result of the one before and uses
 * nothing of it. Any number of queries run side by side, without a lock and without ever waiting
 * for a writer. Allocates nothing once it has seen its longest prompt.
 *
 * <h2>The schedule</h2>
 *
 * A search is bound by memory latency: what costs time is not how many rows it reads but how often
 * it waits for them. So it asks for many rows before it looks at the first, in four stages.
 *
 * <ol>
 *   <li><b>Stride.</b> Every 4th, 16th or 128th position is probed, from the front, asked for some
 *       way ahead of being looked at; meanwhile the hash chain, itself one long dependency, goes
 *       on. The stage ends at the first position that no lane holds, so a shallow match never
 *       chains a long prompt to its end. A lane that first misses at one position ends between it
 *       and the one before: lanes that share this bracket form a group.
 *   <li><b>Split.</b> A bracket with more than {@value #FINAL_GAP} positions inside is cut by
 *       evenly spaced probes, all groups of a round together.
 *   <li><b>Finish.</b> All positions inside every bracket are probed in one round. A lane's end is
 *       the highest position there below which the verification window is clean.
 *   <li><b>Check.</b> Lanes that end at an edge of their bracket are looked at once more: the
 *       window may reach below the bracket, and the miss above it may be a hole in a longer prefix,
 *       if the position beyond it is held. A lane with such a hole goes on from there.
 * </ol>
 *
 * <p>A lane's positions follow from its own answers and the prompt's length alone, so its depth
 * never depends on other lanes. Presence is kept as bit masks, of lanes at a position or of
 * positions in a lane; brackets follow from them by arithmetic, not by branches.
 *
 * <p>If a position in the window below a lane's end is a miss, the end moves down to it and its own
 * window is looked at, and so on: every step goes down, so no state, however contradictory or
 * changing, keeps a search from ending. The depth is always a position that was seen as a miss, or
 * the prompt's end, and so at least the number of leading blocks the lane holds.
 */
final class PrefixQuery {
  static final int DEFAULT_WINDOW = 2;
  static final int MAX_WINDOW = 8;

  /** Brackets with more positions inside are split before they are finished. */
  static final int FINAL_GAP = 3;

  /**
   * A bracket that is split gets probes sixteen blocks apart, or four if it is no wider than this.
   */
  private static final int WIDE_BRACKET = 16;

  private static final int MAX_STRIDE = 128;

  /** Positions asked for ahead of being looked at, while the chain between them is short. */
  private static final int AHEAD = 8;

  /** A power of two above {@link #AHEAD}. */
  private static final int STRIDE_SLOTS = 16;

  /** So few groups are checked ahead. */
  private static final int FEW_GROUPS = 2;

  private static final int LANES = 64;

  /** The most of any stage: a window and the position above an end. */
  private static final int SLOTS_PER_GROUP = MAX_WINDOW;

  private static final int SPARE_SLOT = LANES * SLOTS_PER_GROUP;

  private final int window;
  private final int[] depths = new int[LANES];
  private final HashChain chain = new HashChain();
  private final ProbeSlots slots;
  private Brackets open = new Brackets();
  private Brackets split = new Brackets();
  private LaneIndex.Capture capture;
  private int length;

  // Lanes that are looked at a second time; one entry more than lanes, see Brackets.
  private final int[] checkLane = new int[LANES + 1];
  private final int[] checkLow = new int[LANES + 1];
  private final int[] checkAbove = new int[LANES + 1];
  private int checks;
  private long resume;

  /** Receives what touched words held, so that no compiler finds the loads superfluous. */
  @SuppressWarnings("UnusedVariable")
  private long touched;

  /**
   * Creates a query.
   *
   * @param index the index it begins with; each search names its own
   * @param window the verification window, 1..{@value #MAX_WINDOW}
   * @throws LaneException if the window is out of range
   */
  PrefixQuery(LaneIndex index, int window) {
    if (window < 1 || window > MAX_WINDOW) {
      throw new LaneException(
          LaneError.INVALID_VERIFICATION_WINDOW,
          "verificationWindow = " + window + ": must be in 1.." + MAX_WINDOW);
    }
    this.window = window;
    this.slots = new ProbeSlots(SPARE_SLOT + 1, index);
    this.capture = new LaneIndex.Capture(index.manifest(), 0);
  }

  /**
   * Searches for a prompt given by its blocks' local hashes.
   *
   * @param index where; its ready lanes are captured once, at the beginning
   * @return false if no lane is ready; there is no result then
   */
  boolean searchLocals(LaneIndex index, long[] localHashes, int from, int to) {
    Objects.checkFromToIndex(from, to, localHashes.length);
    chain.ofLocals(localHashes, from, to);
    return search(index, to - from);
  }

  /** The same for a prompt given by its sequence hashes. */
  boolean searchSequence(LaneIndex index, long[] sequenceHashes, int from, int to) {
    Objects.checkFromToIndex(from, to, sequenceHashes.length);
    chain.ofSequence(sequenceHashes, from, to);
    return search(index, to - from);
  }

  private boolean search(LaneIndex index, int blocks) {
    capture = index.capture();
    length = blocks;
    long lanes = capture.readyLanes();
    if (lanes == 0) {
      return false;
    }
    slots.aim(index);
    if (blocks == 0) {
      settle(lanes, 0);
    } else {
      find(lanes);
    }
    chain.release();
    return true;
  }

  private void find(long lanes) {
    resume = 0;
    search(lanes, 0);
    while (resume != 0) {
      // Every round starts above the one before, so there is a last one.
      int lane = Long.numberOfTrailingZeros(resume);
      resume &= resume - 1;
      search(1L << lane, depths[lane] + 1);
    }
  }

  private void search(long lanes, int start) {
    stride(lanes, start);
    while (splitAll()) {
      // every round cuts every wide bracket into parts
    }
    finishAll();
    if (checks != 0) {
      checkAll();
    }
  }

  /** Bit i: lane i was ready when the last search began, and has a depth. */
  long capturedLanes() {
    return capture.readyLanes();
  }

  /** Leading blocks that a captured lane probably holds. */
  int depth(int lane) {
    return depths[lane];
  }

  /** The pool that a captured lane stood for. */
  PoolId pool(int lane) {
    return capture.manifest().pool(lane);
  }

  private void settle(long lanes, int depth) {
    for (long left = lanes; left != 0; left &= left - 1) {
      depths[Long.numberOfTrailingZeros(left)] = depth;
    }
  }

  private static int strideOf(int length) {
    if (length <= 32) {
      return 4;
    }
    return length <= 160 ? 16 : MAX_STRIDE;
  }

  private void stride(long lanes, int start) {
    int stride = strideOf(length);
    int ahead = stride < MAX_STRIDE ? AHEAD : 1;
    int asked = 0;
    int low = start;
    int index = 0;
    long alive = lanes;
    open.clear();
    for (int position = start; position < length && alive != 0; position += stride, index++) {
      for (; asked <= index + ahead && start + asked * stride < length; asked++) {
        slots.fill(asked & (STRIDE_SLOTS - 1), chain.at(start + asked * stride), alive);
      }
      touched = slots.pull();
      long holders = slots.holders(index & (STRIDE_SLOTS - 1), alive);
      long missed = alive & ~holders;
      if (position > start) {
        open.add(low, position, missed);
      } else if (start == 0) {
        settle(missed, 0);
      }
      alive &= holders;
      low = position;
    }
    open.add(low, length, alive);
  }

  private static boolean isWide(Brackets brackets, int group) {
    return brackets.high(group) - brackets.low(group) - 1 > FINAL_GAP;
  }

  /** One round over all wide brackets. False if there was none. */
  private boolean splitAll() {
    int wide = 0;
    for (int group = 0; group < open.size(); group++) {
      if (isWide(open, group)) {
        fillParts(open.low(group), open.high(group), open.lanes(group), wide++ * SLOTS_PER_GROUP);
      }
    }
    if (wide == 0) {
      return false;
    }
    touched = slots.pull();
    split.clear();
    wide = 0;
    for (int group = 0; group < open.size(); group++) {
      if (isWide(open, group)) {
        splitGroup(open.low(group), open.high(group), open.lanes(group), wide++ * SLOTS_PER_GROUP);
      } else {
        split.add(open.low(group), open.high(group), open.lanes(group));
      }
    }
    Brackets done = open;
    open = split;
    split = done;
    return true;
  }

  private static int step(int low, int high) {
    return high - low > WIDE_BRACKET ? 16 : 4;
  }

  private void fillParts(int low, int high, long lanes, int slot) {
    int step = step(low, high);
    for (int i = 0, position = low + step; position < high; i++, position += step) {
      slots.fill(slot + i, chain.at(position), lanes);
    }
  }

  private void splitGroup(int low, int high, long lanes, int slot) {
    int step = step(low, high);
    long alive = lanes;
    int at = low;
    for (int i = 0, position = low + step; position < high; i++, position += step) {
      long holders = slots.holders(slot + i, alive);
      split.add(at, position, alive & ~holders);
      alive &= holders;
      at = position;
    }
    split.add(at, high, alive);
  }

  private void finishAll() {
    int slot = 0;
    for (int group = 0; group < open.size(); group++) {
      int high = open.high(group);
      long lanes = open.lanes(group);
      for (int position = open.low(group) + 1; position < high; position++) {
        slots.fill(slot++, chain.at(position), lanes);
      }
      if (open.size() <= FEW_GROUPS) {
        expectCheck(open.low(group), high, lanes);
      }
    }
    touched = slots.pull();
    slot = 0;
    checks = 0;
    for (int group = 0; group < open.size(); group++) {
      finishGroup(open.low(group), open.high(group), open.lanes(group), slot);
      slot += open.high(group) - open.low(group) - 1;
    }
  }

  /**
   * Asks for what a check would look at. Few groups leave room for it among their loads; it decides
   * nothing, since a check that was not expected looks at the same positions later.
   */
  private void expectCheck(int low, int high, long lanes) {
    for (int position = Math.max(0, low + 1 - window); position < low; position++) {
      slots.fill(SPARE_SLOT, chain.at(position), lanes);
    }
    if (high + 1 < length) {
      slots.fill(SPARE_SLOT, chain.at(high + 1), lanes);
    }
  }

  /**
   * Bit i of a lane's presence is position {@code low + i}; it holds the first and not the last.
   */
  private void finishGroup(int low, int high, long lanes, int slot) {
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      long presence = (slots.presence(slot, high - low - 1, lane) << 1) | 1;
      int end = highestCleanEnd(presence);
      int below = end < window && low > 0 ? 1 : 0;
      int above = low + end == high && high + 1 < length ? 1 : 0;
      depths[lane] = low + end;
      checkLane[checks] = lane;
      checkLow[checks] = low;
      checkAbove[checks] = above;
      checks += below | above;
    }
  }

  /**
   * The highest end below which the window holds no miss. What lies below the known positions
   * counts as held. There is always one: the first miss.
   */
  private int highestCleanEnd(long presence) {
    long clean = presence;
    for (int i = 1; i < window; i++) {
      clean &= presence << i | (1L << i) - 1;
    }
    return 64 - Long.numberOfLeadingZeros(clean & ~(presence >>> 1));
  }

  /**
   * The second look at lanes whose depth lies at the edge of what is known: does the window below
   * the bracket hold, and is the miss above it an end or only a hole?
   */
  private void checkAll() {
    int slot = 0;
    for (int i = 0; i < checks; i++) {
      int depth = depths[checkLane[i]];
      long lane = 1L << checkLane[i];
      for (int position = checkFrom(i); position < checkLow[i]; position++) {
        slots.fill(slot++, chain.at(position), lane);
      }
      if (checkAbove[i] != 0) {
        slots.fill(slot++, chain.at(depth + 1), lane);
      }
    }
    touched = slots.pull();
    slot = 0;
    for (int i = 0; i < checks; i++) {
      int below = Math.max(0, checkLow[i] - checkFrom(i));
      int count = below + checkAbove[i];
      check(checkLane[i], slots.presence(slot, count, checkLane[i]), below);
      slot += count;
    }
  }

  /** Where the window begins that belongs to a check. */
  private int checkFrom(int i) {
    return Math.max(0, depths[checkLane[i]] - window);
  }

  private void check(int lane, long presence, int below) {
    long held = (1L << below) - 1;
    if ((presence & held) != held) {
      depths[lane] = repair(lane, depths[lane]);
    } else if (presence >>> below != 0) {
      resume |= 1L << lane;
    }
  }

  /** Moves a lane's end down to the lowest miss in its window until the window is clean. */
  private int repair(int lane, int end) {
    int depth = end;
    int lowestMiss = end;
    do {
      depth = lowestMiss;
      for (int position = Math.max(0, depth - window); position < depth; position++) {
        slots.fill(SPARE_SLOT, chain.at(position), 0);
        if (slots.presence(SPARE_SLOT, 1, lane) == 0) {
          lowestMiss = position;
          break;
        }
      }
    } while (lowestMiss < depth);
    return depth;
  }
}
