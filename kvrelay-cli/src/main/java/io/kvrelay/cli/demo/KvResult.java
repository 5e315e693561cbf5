package io.kvrelay.cli.demo;

import org.jspecify.annotations.Nullable;

/**
 * What publishing cost, how right the view was, and how fast.
 *
 * @param snapshotBytes payload of all snapshot chunks that reached the router
 * @param deltaBytes payload of all deltas that reached it
 * @param deltas number of deltas
 * @param images bucket images in them
 * @param exactEventBytes what forwarding every event to the router would have cost
 * @param depthChecks prefixes compared with exact ownership, after a drain
 * @param depthInflated of these, how many the view took for longer
 * @param depthMissed of these, how many it took for shorter
 * @param omissions blocks that a filter had no room for
 * @param lostBatches batches of events lost between a worker and its relay
 * @param restarts workers that restarted
 * @param gaps gaps that relays noticed
 * @param recoveries recoveries that ended with a worker's history or dump
 * @param freshnessMicros event applied until visible to a query; null if not measured
 * @param routeMicros one routing decision; null if there was none
 * @param converged whether every lane equals its producer's filter, word for word, after a drain
 */
public record KvResult(
    long snapshotBytes,
    long deltaBytes,
    long deltas,
    long images,
    long exactEventBytes,
    long depthChecks,
    long depthInflated,
    long depthMissed,
    long omissions,
    long lostBatches,
    long restarts,
    long gaps,
    long recoveries,
    @Nullable Latency freshnessMicros,
    @Nullable Latency routeMicros,
    boolean converged) {
  /** The same with the freshness. */
  KvResult with(@Nullable Latency freshness) {
    return new KvResult(
        snapshotBytes,
        deltaBytes,
        deltas,
        images,
        exactEventBytes,
        depthChecks,
        depthInflated,
        depthMissed,
        omissions,
        lostBatches,
        restarts,
        gaps,
        recoveries,
        freshness,
        routeMicros,
        converged);
  }

  /**
   * Percentiles in microseconds.
   *
   * @param p50 the median
   * @param p99 what 99 of 100 do not exceed
   */
  public record Latency(double p50, double p99) {
    static @Nullable Latency of(Samples nanos) {
      return nanos.count() == 0
          ? null
          : new Latency(nanos.percentile(50) / 1e3, nanos.percentile(99) / 1e3);
    }
  }
}
