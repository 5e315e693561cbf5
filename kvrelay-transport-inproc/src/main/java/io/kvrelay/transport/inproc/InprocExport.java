package io.kvrelay.transport.inproc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A source that is served under a name. Thread safe; nothing blocks. */
public final class InprocExport implements RelayExport {
  /** Buckets of a full snapshot chunk; bucket counts are powers of two, so no chunk is partial. */
  private static final int CHUNK_BUCKETS = 512 * 1024;

  private final String name;
  private final RelayPublicationSource source;
  private final RelayRuntime runtime;
  private final TransportLimits limits;
  private final InprocFaults faults = new InprocFaults(this);
  private final StateMirror<PoolCatalog> catalog;
  private final StateMirror<TopologySnapshot> readiness;
  private final StateMirror<LoadSnapshot> load;
  private final LoadWindows windows;
  private final Map<StreamType, StreamLimit> streamLimits = new EnumMap<>(StreamType.class);
  private final Set<Pipe<?>> pipes = ConcurrentHashMap.newKeySet();
  private final Set<InprocConnection> connections = ConcurrentHashMap.newKeySet();
  private final LongAdder poolHeartbeats = new LongAdder();
  private final LongAdder subscriberFaults = new LongAdder();
  private final AtomicBoolean ended = new AtomicBoolean();
  private volatile @Nullable Throwable lastError;

  InprocExport(String name, RelayPublicationSource source, ExportOptions options) {
    this.name = name;
    this.source = source;
    this.runtime = options.runtime();
    this.limits = options.limits();
    this.catalog = new StateMirror<>(runtime.executor(), this::sourceEnded);
    this.readiness = new StateMirror<>(runtime.executor(), this::sourceEnded);
    this.load = new StateMirror<>(runtime.executor(), this::loadEnded);
    this.windows = new LoadWindows(runtime, limits, load::value);
    streamLimits.put(
        StreamType.CATALOG, new StreamLimit(StreamType.CATALOG, limits.maxCatalogSubscribers()));
    streamLimits.put(
        StreamType.POOL, new StreamLimit(StreamType.POOL, limits.maxPoolStreamsTotal()));
    streamLimits.put(
        StreamType.READINESS,
        new StreamLimit(StreamType.READINESS, limits.maxReadinessSubscribers()));
    streamLimits.put(
        StreamType.LOAD, new StreamLimit(StreamType.LOAD, limits.maxLoadSubscribers()));
  }

  void start() {
    source.catalog().subscribe(catalog);
    source.readiness().subscribe(readiness);
    source.load().subscribe(load);
    windows.start();
    source.shutdown().whenComplete((done, error) -> retire());
  }

  @Override
  public URI address() {
    return URI.create(InprocTransport.SCHEME + ":" + name);
  }

  @Override
  public boolean isServing() {
    return !ended.get();
  }

  @Override
  public @Nullable Throwable lastError() {
    return lastError;
  }

  /**
   * Makes the links of this export fail.
   *
   * @return its controller
   */
  public InprocFaults faults() {
    return faults;
  }

  /**
   * Gauges and counters.
   *
   * @return the numbers of this moment
   */
  public InprocStatistics statistics() {
    return new InprocStatistics(
        limit(StreamType.CATALOG).statistics(),
        limit(StreamType.POOL).statistics(),
        limit(StreamType.READINESS).statistics(),
        limit(StreamType.LOAD).statistics(),
        poolHeartbeats.sum(),
        windows.produced(),
        subscriberFaults.sum(),
        faults.injected());
  }

  @Override
  public void close() {
    retire();
    windows.close();
    catalog.close();
    readiness.close();
    load.close();
    endStreams(InprocConnection.unavailable("the export " + name + " was closed"));
  }

  /** Takes no more streams; those that are open end as their source ends them. */
  private void retire() {
    if (ended.compareAndSet(false, true)) {
      InprocTransport.free(this);
      connections.forEach(InprocConnection::sourceEnded);
    }
  }

  private void sourceEnded(@Nullable Throwable error) {
    if (error != null && !ended.get()) {
      lastError = error; // what it mirrors is gone, so it has nothing to serve
      close();
    }
  }

  private void loadEnded(@Nullable Throwable error) {
    windows.end(error);
    sourceEnded(error);
  }

  // For connections and pipes.

  String name() {
    return name;
  }

  RelayRuntime runtime() {
    return runtime;
  }

  RelayPublicationSource source() {
    return source;
  }

  StateMirror<PoolCatalog> catalogMirror() {
    return catalog;
  }

  void connected(InprocConnection connection) {
    connections.add(connection);
    if (ended.get()) {
      connection.sourceEnded();
    }
  }

  void disconnected(InprocConnection connection) {
    connections.remove(connection);
  }

  void opened(Pipe<?> pipe) {
    pipes.add(pipe);
    if (faults.isCut() || ended.get()) {
      pipe.end(InprocConnection.unavailable("the link to " + name + " is gone"));
    }
  }

  void closed(Pipe<?> pipe, StreamType type) {
    if (pipes.remove(pipe)) {
      limit(type).release();
    }
  }

  void endStreams(RelayException error) {
    pipes.forEach(pipe -> pipe.end(error));
  }

  void wakeStreams() {
    pipes.forEach(Pipe::wake);
  }

  void countPoolHeartbeat() {
    poolHeartbeats.increment();
  }

  void countSubscriberFault() {
    subscriberFaults.increment();
  }

  StreamLimit limit(StreamType type) {
    return Objects.requireNonNull(streamLimits.get(type));
  }

  Pipe.Route<PoolCatalog> admitCatalog() {
    limit(StreamType.CATALOG).acquire();
    return new Pipe.Route<>(catalog, Heartbeat.ofState(runtime, limits.catalogHeartbeatInterval()));
  }

  Pipe.Route<TopologySnapshot> admitReadiness() {
    limit(StreamType.READINESS).acquire();
    return new Pipe.Route<>(
        readiness, Heartbeat.ofState(runtime, limits.readinessHeartbeatInterval()));
  }

  Pipe.Route<LoadSnapshot> admitLoad() {
    limit(StreamType.LOAD).acquire();
    return new Pipe.Route<>(windows, null);
  }

  /**
   * Permit, then source: an exhausted limit wins over an unknown pool. Whether the pool is still
   * there is the source's to say; the copy of the catalog here may be a moment behind it.
   */
  Pipe.Route<PublicationFrame> admitPool(ProducerIdentity expected) {
    int chunks = Math.max(1, expected.format().bucketCount() / CHUNK_BUCKETS);
    Pipe.Route<PublicationFrame> route =
        new Pipe.Route<>(
            source.pool(expected),
            Heartbeat.ofPool(runtime, limits.poolHeartbeatInterval(), chunks));
    limit(StreamType.POOL).acquire();
    return route;
  }
}
