package io.kvrelay.cli.demo;

/**
 * The longest reusable prefix among candidates that are not overloaded. Longest prefix alone would
 * send everything to one place wherever all requests share their first block.
 */
final class LoadBoundedChoice {
  /** What part of the mean a candidate may carry. */
  static final double FACTOR = 1.25;

  // The same, exactly.
  private static final long BOUND_NUMERATOR = 5;
  private static final long BOUND_DENOMINATOR = 4;

  private LoadBoundedChoice() {}

  /**
   * Chooses among candidates whose load is at most 1.25 times the mean; there always is one. Ties
   * go to the less loaded, then to the first.
   *
   * @param depths reusable leading blocks at each candidate
   * @param loads recent load of each candidate, as many
   * @return the index of the chosen one
   */
  static int choose(int[] depths, long[] loads) {
    long sum = 0;
    for (long load : loads) {
      sum += load;
    }
    int best = -1;
    for (int i = 0; i < loads.length; i++) {
      boolean overloaded = loads[i] * loads.length * BOUND_DENOMINATOR > sum * BOUND_NUMERATOR;
      if (!overloaded && (best < 0 || isBetter(depths, loads, i, best))) {
        best = i;
      }
    }
    return best;
  }

  private static boolean isBetter(int[] depths, long[] loads, int a, int b) {
    return depths[a] != depths[b] ? depths[a] > depths[b] : loads[a] < loads[b];
  }
}
