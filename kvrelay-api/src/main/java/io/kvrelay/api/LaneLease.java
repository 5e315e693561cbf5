package io.kvrelay.api;

/**
 * Binds one filter stream to one consumer instance and one of its lanes.
 *
 * @param consumerInstance the consumer
 * @param physicalLane the lane, 0..63
 * @param assignmentEpoch grows with each assignment of the lane (unsigned)
 */
public record LaneLease(long consumerInstance, int physicalLane, long assignmentEpoch) {
  /** Largest lane number plus one. */
  public static final int MAX_LANES = 64;

  /**
   * Checks the lane.
   *
   * @param consumerInstance the consumer
   * @param physicalLane the lane, 0..63
   * @param assignmentEpoch grows with each assignment of the lane (unsigned)
   * @throws IllegalArgumentException if the lane is out of range
   */
  public LaneLease {
    Check.that(
        physicalLane >= 0 && physicalLane < MAX_LANES,
        "physicalLane",
        physicalLane,
        "must be in 0..63");
  }
}
