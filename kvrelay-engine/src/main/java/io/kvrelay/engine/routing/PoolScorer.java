package io.kvrelay.engine.routing;

/** Rates a candidate that may be chosen. Thread safe; must not block. */
@FunctionalInterface
public interface PoolScorer {
  /**
   * Rates a candidate. Only ever asked about candidates that have a depth.
   *
   * @param candidate the candidate
   * @return the higher the better; NaN rules the candidate out
   */
  double score(PoolCandidate candidate);

  /**
   * The number of reusable tokens, nothing else. Ties go to the less loaded pool.
   *
   * @return the scorer
   */
  static PoolScorer longestPrefix() {
    return candidate -> candidate.reusableTokens();
  }

  /**
   * Weighs the reusable share of the prompt against the occupied share of the pool: {@code
   * prefixWeight * reusable / prompt - loadWeight * used / total}.
   *
   * @param prefixWeight weight of the prefix, not negative
   * @param loadWeight weight of the load, not negative
   * @param unknownLoad what stands for an unknown load, in (0, 1]: unknown is never zero
   * @return the scorer
   * @throws IllegalArgumentException if a value is out of bounds
   */
  static PoolScorer balanced(double prefixWeight, double loadWeight, double unknownLoad) {
    check(prefixWeight >= 0, "prefixWeight", prefixWeight, "must not be negative");
    check(loadWeight >= 0, "loadWeight", loadWeight, "must not be negative");
    check(unknownLoad > 0 && unknownLoad <= 1, "unknownLoad", unknownLoad, "must be in (0, 1]");
    return candidate ->
        prefixWeight * candidate.reusableShare()
            - loadWeight * candidate.match().load().usedFraction().orElse(unknownLoad);
  }

  private static void check(boolean condition, String field, double value, String rule) {
    if (!condition) {
      throw new IllegalArgumentException(field + " = " + value + ": " + rule);
    }
  }
}
