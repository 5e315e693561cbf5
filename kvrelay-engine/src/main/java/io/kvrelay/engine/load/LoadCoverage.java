package io.kvrelay.engine.load;

/**
 * Aggregated load of one pool in its three dimensions. A dimension covers the ranks whose capacity
 * in it is known.
 *
 * @param kv KV blocks in use
 * @param decode KV blocks of sequences being decoded; expected where {@code kv} is, without a
 *     capacity of its own
 * @param prefill tokens being prefilled
 */
public record LoadCoverage(Dimension kv, Dimension decode, Dimension prefill) {
  /**
   * One dimension.
   *
   * @param expectedRanks ranks whose capacity is known
   * @param observedRanks those of them that have reported
   * @param value sum of their latest reports (unsigned, saturating at 2^64-1)
   * @param capacity sum of the capacities of the expected ranks (unsigned, saturating)
   */
  public record Dimension(int expectedRanks, int observedRanks, long value, long capacity) {}

  /**
   * Whether something is missing: nothing is expected at all, or a dimension lacks reports. A
   * dimension in which nothing is expected does not degrade the others.
   *
   * @return true if so
   */
  public boolean isDegraded() {
    return kv.expectedRanks + decode.expectedRanks + prefill.expectedRanks == 0
        || kv.observedRanks < kv.expectedRanks
        || decode.observedRanks < decode.expectedRanks
        || prefill.observedRanks < prefill.expectedRanks;
  }
}
