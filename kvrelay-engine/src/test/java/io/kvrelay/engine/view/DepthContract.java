package io.kvrelay.engine.view;

import java.util.BitSet;

/** What a depth must be, and the linear scan it is compared with. */
final class DepthContract {
  private DepthContract() {}

  /** Number of leading hits. */
  static int linear(BitSet presence, int length) {
    return Math.min(length, presence.nextClearBit(0));
  }

  static boolean isMonotone(BitSet presence, int length) {
    return presence.nextSetBit(linear(presence, length)) < 0;
  }

  static boolean windowIsClean(BitSet presence, int depth, int window) {
    int from = Math.max(0, depth - window);
    return presence.nextClearBit(from) >= depth;
  }

  /** Null if the depth is allowed, else what is wrong with it. */
  static String violation(BitSet presence, int length, int window, int depth) {
    int linear = linear(presence, length);
    if (linear == 0 || isMonotone(presence, length)) {
      return depth == linear ? null : "depth " + depth + ", must be " + linear;
    }
    if (depth < 1 || depth > length) {
      return "depth " + depth + " is out of range";
    }
    if (!windowIsClean(presence, depth, window)) {
      return "a miss in the window below depth " + depth;
    }
    if (depth < length && presence.get(depth)) {
      return "depth " + depth + " is held: not a boundary";
    }
    return depth >= linear ? null : "depth " + depth + " is below the linear " + linear;
  }
}
