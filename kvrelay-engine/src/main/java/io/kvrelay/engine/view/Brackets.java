package io.kvrelay.engine.view;

/**
 * Groups of lanes whose depth lies in the same bracket: each lane of a group holds position {@code
 * low} and missed position {@code high}, or {@code high} is the prompt's end. Not thread safe.
 */
final class Brackets {
  // One more than there are lanes: an append of no lanes writes, and does not count.
  private final int[] low = new int[65];
  private final int[] high = new int[65];
  private final int[] node = new int[65];
  private final long[] lanes = new long[65];
  private int size;

  void clear() {
    size = 0;
  }

  int size() {
    return size;
  }

  int low(int group) {
    return low[group];
  }

  int high(int group) {
    return high[group];
  }

  long lanes(int group) {
    return lanes[group];
  }

  /** The slot that probes a group's middle, see {@link ProbeSlots#fillTree}. */
  int node(int group) {
    return node[group];
  }

  void aim(int group, int slot) {
    node[group] = slot;
  }

  /** Adds a group, unless it has no lanes; without a branch, since lanes split at random. */
  void add(int lowest, int highest, long members, int slot) {
    int at = size;
    low[at] = lowest;
    high[at] = highest;
    lanes[at] = members;
    node[at] = slot;
    size = at + (int) ((members | -members) >>> 63);
  }
}
