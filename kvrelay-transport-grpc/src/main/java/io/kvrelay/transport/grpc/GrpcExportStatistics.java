package io.kvrelay.transport.grpc;

import java.util.EnumMap;
import java.util.Map;

/**
 * What an export has done so far. Counters only grow.
 *
 * @param streams per kind of stream
 * @param refusedRequests calls refused because the request was malformed or unsupported
 * @param poolHeartbeats heartbeats sent on pool streams
 * @param loadWindows load windows produced, however many subscribers took them
 * @param oversizedMessages messages that exceeded the limit and ended their stream
 */
public record GrpcExportStatistics(
    Map<StreamKind, Streams> streams,
    long refusedRequests,
    long poolHeartbeats,
    long loadWindows,
    long oversizedMessages) {
  /**
   * Copies the map.
   *
   * @param streams per kind of stream
   * @param refusedRequests calls refused because the request was malformed or unsupported
   * @param poolHeartbeats heartbeats sent on pool streams
   * @param loadWindows load windows produced, however many subscribers took them
   * @param oversizedMessages messages that exceeded the limit and ended their stream
   */
  public GrpcExportStatistics {
    streams = Map.copyOf(new EnumMap<>(streams));
  }

  /**
   * The streams of one kind.
   *
   * @param open open now
   * @param lagged ended because their subscriber fell behind
   * @param limitRejected refused because too many were open
   */
  public record Streams(int open, long lagged, long limitRejected) {}
}
