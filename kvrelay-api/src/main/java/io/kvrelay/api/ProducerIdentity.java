package io.kvrelay.api;

/**
 * One life of one pool's filter: the only key a pool stream can be subscribed with.
 *
 * <p>Every component takes part in equality, including both digest sources, and nothing else does.
 * A consumer that holds an identity can never silently read a replacement generation's filter.
 *
 * @param poolId the pool
 * @param producerIncarnation the incarnation of the relay that produces
 * @param layoutGeneration the generation of the filter within that relay; at least 1 (unsigned)
 * @param format the filter's format
 */
public record ProducerIdentity(
    PoolId poolId, long producerIncarnation, long layoutGeneration, CkfFormat format) {
  /**
   * Checks the generation.
   *
   * @param poolId the pool
   * @param producerIncarnation the incarnation of the relay that produces
   * @param layoutGeneration the generation of the filter within that relay; at least 1 (unsigned)
   * @param format the filter's format
   * @throws IllegalArgumentException if {@code layoutGeneration} is zero
   */
  public ProducerIdentity {
    Check.that(layoutGeneration != 0, "layoutGeneration", layoutGeneration, "must not be zero");
  }

  /** Pool, incarnation and generation, for logs. */
  @Override
  public String toString() {
    return poolId
        + "@"
        + Long.toUnsignedString(producerIncarnation)
        + "/"
        + Long.toUnsignedString(layoutGeneration)
        + "["
        + format.bucketCount()
        + " buckets]";
  }
}
