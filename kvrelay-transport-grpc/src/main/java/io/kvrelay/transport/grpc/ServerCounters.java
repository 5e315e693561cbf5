package io.kvrelay.transport.grpc;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What an export counts. Thread safe; counters only grow. */
final class ServerCounters {
  private final Map<StreamKind, LongAdder> lagged = perKind();
  private final Map<StreamKind, LongAdder> limitRejected = perKind();
  private final LongAdder refusedRequests = new LongAdder();
  private final LongAdder poolHeartbeats = new LongAdder();
  private final LongAdder loadWindows = new LongAdder();
  private final LongAdder oversizedMessages = new LongAdder();

  private static Map<StreamKind, LongAdder> perKind() {
    Map<StreamKind, LongAdder> counters = new EnumMap<>(StreamKind.class);
    for (StreamKind kind : StreamKind.values()) {
      counters.put(kind, new LongAdder());
    }
    return counters;
  }

  private static LongAdder of(Map<StreamKind, LongAdder> counters, StreamKind kind) {
    return java.util.Objects.requireNonNull(counters.get(kind));
  }

  void lagged(StreamKind kind) {
    of(lagged, kind).increment();
  }

  void limitRejected(StreamKind kind) {
    of(limitRejected, kind).increment();
  }

  void refusedRequest() {
    refusedRequests.increment();
  }

  void poolHeartbeat() {
    poolHeartbeats.increment();
  }

  void loadWindow() {
    loadWindows.increment();
  }

  void oversizedMessage() {
    oversizedMessages.increment();
  }

  GrpcExportStatistics snapshot(Map<StreamKind, Permits> permits) {
    Map<StreamKind, GrpcExportStatistics.Streams> streams = new EnumMap<>(StreamKind.class);
    permits.forEach(
        (kind, permit) ->
            streams.put(
                kind,
                new GrpcExportStatistics.Streams(
                    permit.taken(), of(lagged, kind).sum(), of(limitRejected, kind).sum())));
    return new GrpcExportStatistics(
        streams,
        refusedRequests.sum(),
        poolHeartbeats.sum(),
        loadWindows.sum(),
        oversizedMessages.sum());
  }
}
