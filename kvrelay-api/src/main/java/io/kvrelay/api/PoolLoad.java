package io.kvrelay.api;

import java.util.OptionalLong;

/**
 * KV occupancy of one pool. Unknown is not zero: an absent value says that not every declared rank
 * has reported.
 *
 * @param producer the generation it was observed in
 * @param kvUsedBlocks used blocks over all declared ranks, present only if every one of them has
 *     reported; 2^64-1 is a saturated sum
 * @param totalKvBlocks capacity over all declared ranks, present only if every one of them has a
 *     known capacity
 * @param kvObservedRanks ranks that have reported (unsigned)
 * @param kvCapacityRanks ranks with a known capacity (unsigned); not sent over the wire, where it
 *     is derived
 * @param kvExpectedRanks declared ranks (unsigned)
 */
public record PoolLoad(
    ProducerIdentity producer,
    OptionalLong kvUsedBlocks,
    OptionalLong totalKvBlocks,
    int kvObservedRanks,
    int kvCapacityRanks,
    int kvExpectedRanks) {
  /**
   * Whether both usage and capacity are authoritative.
   *
   * @return true if neither may be taken for unknown
   */
  public boolean isAuthoritative() {
    return kvUsedBlocks.isPresent() && totalKvBlocks.isPresent();
  }

  /**
   * Whether coverage is incomplete.
   *
   * @return true if nothing is expected or some rank lacks usage or capacity
   */
  public boolean isDegraded() {
    return kvExpectedRanks == 0
        || Integer.compareUnsigned(kvObservedRanks, kvExpectedRanks) < 0
        || Integer.compareUnsigned(kvCapacityRanks, kvExpectedRanks) < 0;
  }
}
