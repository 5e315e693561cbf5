package io.kvrelay.transport.grpc;

import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.TransportLimits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What the streams of one export share: source, settings, admission, counters. Thread safe. */
final class StreamContext {
  private final RelayPublicationSource source;
  private final RelayRuntime runtime;
  private final TransportLimits limits;
  private final Compression compression;
  private final ServerCounters counters = new ServerCounters();
  private final Map<StreamKind, Permits> permits;
  private final Set<CallStream<?>> open = ConcurrentHashMap.newKeySet();

  StreamContext(
      RelayPublicationSource source,
      RelayRuntime runtime,
      TransportLimits limits,
      Compression compression) {
    this.source = source;
    this.runtime = runtime;
    this.limits = limits;
    this.compression = compression;
    Map<StreamKind, Permits> perKind = new EnumMap<>(StreamKind.class);
    perKind.put(StreamKind.CATALOG, new Permits(limits.maxCatalogSubscribers()));
    perKind.put(StreamKind.POOL, new Permits(limits.maxPoolStreamsTotal()));
    perKind.put(StreamKind.READINESS, new Permits(limits.maxReadinessSubscribers()));
    perKind.put(StreamKind.LOAD, new Permits(limits.maxLoadSubscribers()));
    this.permits = Collections.unmodifiableMap(perKind);
  }

  RelayPublicationSource source() {
    return source;
  }

  RelayIdentity relay() {
    return source.relayIdentity();
  }

  RelayRuntime runtime() {
    return runtime;
  }

  TransportLimits limits() {
    return limits;
  }

  Compression compression() {
    return compression;
  }

  ServerCounters counters() {
    return counters;
  }

  Permits permits(StreamKind kind) {
    return Objects.requireNonNull(permits.get(kind));
  }

  /** An admitted stream; it holds a permit until it is closed. */
  void opened(CallStream<?> stream) {
    open.add(stream);
  }

  /** The stream's call is over: its permit is free again. */
  void closed(CallStream<?> stream) {
    if (open.remove(stream)) {
      permits(stream.kind).release();
    }
  }

  void finishAll() {
    List<CallStream<?>> streams = new ArrayList<>(open);
    streams.forEach(CallStream::finish);
  }

  GrpcExportStatistics statistics() {
    return counters.snapshot(permits);
  }

  long nowMicros() {
    return runtime.currentTimeMillis() * 1000;
  }
}
