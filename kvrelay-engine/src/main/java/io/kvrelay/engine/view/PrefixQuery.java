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
 *   <li><b>Stride.</b> Every 4th, 16th or 128th position is probed, from the front; loads are under
 *       way while the hash chain, itself one long dependency, goes on. The stage ends at the first
 *       position that no lane holds, so a shallow match never chains a long prompt to its end. A
 *       lane that first misses at one position ends between it and the one before: lanes that share
 *       this bracket form a group.
 *   <li><b>Halve.</b> Brackets with more than {@value #FINAL_GAP} positions inside are halved,
 *       those of all groups in one round. Where groups are few, a round asks for both middles that
 *       the next halving may want, and for the four after it, and so halves three times.
 *   <li><b>Finish.</b> All positions inside every bracket are probed in one round. A lane's end is
 *       the highest position there below which the verification window is clean.
 *   <li><b>Check.</b> Lanes that end at an edge of their bracket are looked at once more: the
 *       window may reach below the bracket, and the miss above it may be a hole in a longer prefix,
 *       if the position beyond it is held. A lane with such a hole goes on from there.
 * </ol>
 *
 * <p>A lane's positions follow from its own answers and the prompt's length alone, so its depth
 * never depends on other lanes; what is asked for ahead of need does not count. Presence is kept as
 * bit masks, of lanes at a position or of positions in a lane; brackets follow from them by
 * arithmetic, not by branches.
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

  private static final int MAX_STRIDE = 128;

  /** Positions of a shorter stride are asked for in chunks of so many blocks, one chunk ahead. */
  private static final int CHUNK = 16;

  /** Blocks chained while the loads of a probe are under way. */
  private static final int SHADOW = 24;

  /** A power of two; more than two chunks have. */
  private static final int STRIDE_SLOTS = 16;

  /** So few groups have their checks and three steps of their search asked for ahead. */
  private static final int FEW_GROUPS = 2;

  /** So few have two. */
  private static final int SOME_GROUPS = 16;

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

  // Groups with lanes that are looked at a second time; one entry more than lanes, see Brackets.
  private final int[] checkLow = new int[LANES + 1];
  private final int[] checkHigh = new int[LANES + 1];
  private final long[] checkBelow = new long[LANES + 1];
  private final long[] checkAbove = new long[LANES + 1];
  private final int[] checkSlot = new int[LANES + 1];
  private final int[] checkAboveSlot = new int[LANES + 1];
  private int checks;
  private long resume;

  // What became of the last group: who holds what, who ends at which edge of the bracket.
  private final long[] held = new long[FINAL_GAP + 2];
  private long endedLow;
  private long endedHigh;

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
      int depth = depths[Long.numberOfTrailingZeros(resume)];
      long together = 0;
      for (long left = resume; left != 0; left &= left - 1) {
        int lane = Long.numberOfTrailingZeros(left);
        together |= depths[lane] == depth ? 1L << lane : 0;
      }
      resume &= ~together;
      search(together, depth + 1);
    }
  }

  private void search(long lanes, int start) {
    stride(lanes, start);
    while (narrowAll()) {
      // every round halves every wide bracket at least once
    }
    finishAll();
  }

  /** Lets go of the last search's table; its result stays. */
  void release() {
    slots.release();
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
    int chunk = Math.max(stride, CHUNK);
    int lead = stride < CHUNK ? CHUNK : 0;
    int asked = start;
    int low = start;
    long alive = lanes;
    open.clear();
    for (int position = start; position < length && alive != 0; position += stride) {
      for (; asked <= position + lead && asked < length; asked += chunk) {
        int end = Math.min(length, asked + chunk);
        slots.fillRange(slotOf(asked - start, stride), chain, asked, end, stride, alive);
        touched = slots.pull();
      }
      if (lead == 0) {
        chain.upTo(Math.min(length, position + SHADOW));
      }
      long holders = slots.holders(slotOf(position - start, stride), alive);
      long missed = alive & ~holders;
      if (position > start) {
        open.add(low, position, missed, 0);
      } else if (start == 0) {
        settle(missed, 0);
      }
      alive &= holders;
      low = position;
    }
    open.add(low, length, alive, 0);
  }

  private static int slotOf(int distance, int stride) {
    return distance / stride & (STRIDE_SLOTS - 1);
  }

  /** Binary search steps until a bracket has no more than {@value #FINAL_GAP} positions inside. */
  private static int stepsLeft(int low, int high) {
    return Integer.SIZE - Integer.numberOfLeadingZeros((high - low - 1) >>> 2);
  }

  /** One round over all wide brackets. False if there was none. */
  private boolean narrowAll() {
    int wide = 0;
    int most = 0;
    for (int group = 0; group < open.size(); group++) {
      int steps = stepsLeft(open.low(group), open.high(group));
      wide += steps > 0 ? 1 : 0;
      most = Math.max(most, steps);
    }
    if (wide == 0) {
      return false;
    }
    int levels = Math.min(most, wide <= FEW_GROUPS ? 3 : wide <= SOME_GROUPS ? 2 : 1);
    int tree = 0;
    for (int group = 0; group < open.size(); group++) {
      int low = open.low(group);
      int high = open.high(group);
      int steps = Math.min(levels, stepsLeft(low, high));
      if (steps > 0) {
        slots.fillTree(tree, chain, low, high, steps, open.lanes(group));
        open.aim(group, tree + 1);
        tree += ProbeSlots.TREE;
      }
    }
    touched = slots.pull();
    for (int level = 0; level < levels; level++) {
      halveAll();
    }
    return true;
  }

  private void halveAll() {
    Brackets whole = open;
    Brackets halves = split;
    halves.clear();
    for (int group = 0; group < whole.size(); group++) {
      int low = whole.low(group);
      int high = whole.high(group);
      long lanes = whole.lanes(group);
      if (high - low - 1 > FINAL_GAP) {
        int node = whole.node(group);
        int middle = (low + high) >>> 1;
        long holders = slots.holders(node, lanes);
        int child = node + (node & (ProbeSlots.TREE - 1));
        halves.add(low, middle, lanes & ~holders, child);
        halves.add(middle, high, holders, child + 1);
      } else {
        halves.add(low, high, lanes, 0);
      }
    }
    open = halves;
    split = whole;
  }

  /**
   * Probes what is left inside every bracket. Few groups leave room among their loads for what a
   * check would look at; of many, most need none.
   */
  private void finishAll() {
    boolean few = open.size() <= FEW_GROUPS;
    int slot = 0;
    for (int group = 0; group < open.size(); group++) {
      int low = open.low(group);
      int high = open.high(group);
      long lanes = open.lanes(group);
      if (few) {
        slot = slots.fillRange(slot, chain, windowBelow(low), low, 1, lanes);
      }
      open.aim(group, slot);
      slot = slots.fillRange(slot, chain, low + 1, high, 1, lanes);
      if (few && high + 1 < length) {
        slot = slots.fillRange(slot, chain, high + 1, high + 2, 1, lanes);
      }
    }
    touched = slots.pull();
    checks = 0;
    for (int group = 0; group < open.size(); group++) {
      finishGroup(open.low(group), open.high(group), open.lanes(group), open.node(group));
    }
    if (checks != 0) {
      if (!few) {
        fillChecks();
      }
      for (int check = 0; check < checks; check++) {
        check(check);
      }
    }
  }

  private int windowBelow(int low) {
    return Math.max(0, low + 1 - window);
  }

  private void finishGroup(int low, int high, long lanes, int slot) {
    int inside = high - low - 1;
    if (Long.bitCount(lanes) > ProbeSlots.FEW_LANES) {
      finishTogether(low, inside, lanes, slot);
    } else {
      finishSingly(low, inside, lanes, slot);
    }
    checkLow[checks] = low;
    checkHigh[checks] = high;
    checkBelow[checks] = low > 0 ? endedLow : 0;
    checkAbove[checks] = high + 1 < length ? endedHigh : 0;
    checkSlot[checks] = slot - (low - windowBelow(low));
    checkAboveSlot[checks] = slot + inside;
    checks += (checkBelow[checks] | checkAbove[checks]) != 0 ? 1 : 0;
  }

  /**
   * The highest position of a bracket that is a miss and whose window holds none. What lies below
   * the known positions counts as held. There is always one: the first miss.
   */
  private void finishTogether(int low, int inside, long lanes, int slot) {
    held[0] = lanes;
    for (int i = 1; i <= inside; i++) {
      held[i] = slots.holders(slot + i - 1, lanes);
    }
    held[inside + 1] = 0;
    long left = lanes;
    endedLow = 0;
    for (int end = inside + 1; end > 0; end--) {
      long ends = left & ~held[end];
      for (int i = Math.max(0, end - window); i < end; i++) {
        ends &= held[i];
      }
      settle(ends, low + end);
      left &= ~ends;
      endedLow |= end < window ? ends : 0;
      endedHigh = end == inside + 1 ? ends : endedHigh;
    }
  }

  /** The same with bit i of one lane's presence for position {@code low + i}. */
  private void finishSingly(int low, int inside, long lanes, int slot) {
    long below = 0;
    long above = 0;
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      int end = highestCleanEnd(slots.presence(slot, inside, lane) << 1 | 1);
      depths[lane] = low + end;
      below |= ((end - window) >>> 31 & 1L) << lane;
      above |= ((inside - end) >>> 31 & 1L) << lane;
    }
    endedLow = below;
    endedHigh = above;
  }

  private int highestCleanEnd(long presence) {
    long clean = presence;
    for (int i = 1; i < window; i++) {
      clean &= presence << i | (1L << i) - 1;
    }
    return 64 - Long.numberOfLeadingZeros(clean & ~(presence >>> 1));
  }

  private void fillChecks() {
    int slot = 0;
    for (int check = 0; check < checks; check++) {
      int low = checkLow[check];
      checkSlot[check] = slot;
      if (checkBelow[check] != 0) {
        slot = slots.fillRange(slot, chain, windowBelow(low), low, 1, checkBelow[check]);
      }
      checkAboveSlot[check] = slot;
      if (checkAbove[check] != 0) {
        int high = checkHigh[check];
        slot = slots.fillRange(slot, chain, high + 1, high + 2, 1, checkAbove[check]);
      }
    }
    touched = slots.pull();
  }

  /**
   * The second look at lanes whose depth lies at the edge of what is known: does the window below
   * the bracket hold, and is the miss above it an end or only a hole?
   */
  private void check(int check) {
    long failed = 0;
    long below = checkBelow[check];
    if (below != 0) {
      int slot = checkSlot[check];
      int count = checkLow[check] - windowBelow(checkLow[check]);
      for (int i = 0; i < count; i++) {
        failed |= below & ~slots.holders(slot + i, below);
      }
      failed = repairAll(failed);
    }
    long above = checkAbove[check] & ~failed;
    if (above != 0) {
      resume |= slots.holders(checkAboveSlot[check], above);
    }
  }

  /** Repairs lanes with a miss that may lie in their window. Returns those in whose it does. */
  private long repairAll(long lanes) {
    long repaired = 0;
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      int depth = repair(lane, depths[lane]);
      repaired |= depth < depths[lane] ? 1L << lane : 0;
      depths[lane] = depth;
    }
    return repaired;
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
