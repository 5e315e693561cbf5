package io.kvrelay.transport.inproc;

/**
 * What an export serves now and has done so far.
 *
 * @param catalog catalog streams
 * @param pool pool streams
 * @param readiness readiness streams
 * @param load load streams
 * @param poolHeartbeats heartbeats sent on pool streams
 * @param loadWindows load windows produced, each counted once whatever the number of streams
 * @param subscriberFaults subscribers that threw, which ended their streams
 * @param faultsInjected messages that a test dropped, duplicated or reordered
 */
public record InprocStatistics(
    Streams catalog,
    Streams pool,
    Streams readiness,
    Streams load,
    long poolHeartbeats,
    long loadWindows,
    long subscriberFaults,
    long faultsInjected) {
  /**
   * Streams of one type.
   *
   * @param open open now
   * @param refused refused by the limit
   * @param lagged ended because their subscriber was too slow
   */
  public record Streams(int open, long refused, long lagged) {}
}
