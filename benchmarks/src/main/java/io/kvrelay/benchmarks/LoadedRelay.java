package io.kvrelay.benchmarks;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.api.transport.TransportLimits;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import io.kvrelay.transport.grpc.GrpcTransport;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A real pool of 2^20 buckets, filled, under an address; every event of one block is one delta. For
 * one thread at a time.
 */
final class LoadedRelay implements AutoCloseable {
  static final int BUCKETS = 1 << 20;
  private static final int BUCKETS_PER_CHUNK = 524_288;
  static final int CHUNKS = BUCKETS / BUCKETS_PER_CHUNK;
  private static final long BLOCKS = 2L << 20;
  private static final int BLOCKS_PER_EVENT = 512;

  /** Ended streams give their permits back a little later than the next ones ask for them. */
  private static final int MAX_STREAMS = 1024;

  private static final int GRPC_PREFIX_BYTES = 5;
  private static final int HTTP2_FRAME_HEADER_BYTES = 9;
  private static final Member WORKER = new Member(1, 0);

  private final boolean zstd;
  private final SystemRuntime runtime = SystemRuntime.create();
  private final PoolRegistry registry;
  private final PoolActor actor;
  private final RelayExport export;
  private final SplittableRandom random = new SplittableRandom(1);
  private final LongAdder wireBytes = new LongAdder();
  private final LongAdder wireMessages = new LongAdder();
  private long nextHash = 1;
  private long nextEvent;

  LoadedRelay(URI uri, int fillPercent, boolean zstd) throws InterruptedException {
    this.zstd = zstd;
    this.registry =
        PoolRegistry.create(
            new RelayIdentity(1, 2),
            // Deep enough that a busy machine shows as latency and not as a lagged stream.
            PublicationConfig.builder()
                .publicationQueueCapacity(4096)
                .maxPoolStreamsTotal(MAX_STREAMS)
                .maxSubscribersPerPool(MAX_STREAMS)
                .build(),
            runtime);
    this.actor = attach();
    for (long done = 0; done < BLOCKS * fillPercent / 100; done += BLOCKS_PER_EVENT) {
      store(BLOCKS_PER_EVENT);
    }
    actor.flush().toCompletableFuture().join();
    this.export = RelayTransports.export(registry.source(), uri, exportOptions(uri));
  }

  private PoolActor attach() {
    PoolConfig config =
        PoolConfig.builder().expectedUniqueBlocks(BLOCKS).publicationThreshold(1).build();
    AtomicReference<@Nullable PoolActor> made = new AtomicReference<>();
    QuerySemantics semantics = new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1);
    EndpointId endpoint = new EndpointId("bench", "worker", "generate");
    IndexerDomainId domain =
        new IndexerDomainId(
            Identities.cacheSemantics("bench", semantics), Identities.routingScope(endpoint));
    PoolSpec spec =
        new PoolSpec(
            new PoolId(domain, Identities.dcId("bench")),
            endpoint,
            config.format(),
            List.of(ModelRegistration.base("bench")),
            semantics,
            List.of(WorkerRole.LEGACY));
    registry
        .attach(
            spec,
            identity -> {
              PoolActor pool = new PoolActor(config, identity, runtime);
              made.set(pool);
              return pool;
            })
        .join();
    return Objects.requireNonNull(made.get());
  }

  private ExportOptions exportOptions(URI uri) {
    ExportOptions options =
        ExportOptions.defaults(runtime)
            .withLimits(TransportLimits.builder().maxPoolStreamsTotal(MAX_STREAMS).build())
            .with(GrpcTransport.ZSTD, zstd);
    return uri.getScheme().equals("grpc")
        ? GrpcTransport.withServerBuilder(
            options, builder -> builder.addStreamTracerFactory(new WireCounter()))
        : options;
  }

  /** Counts what the framer wrote: messages as they were sent, with their prefix, in one frame. */
  private final class WireCounter extends ServerStreamTracer.Factory {
    @Override
    public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
      return new ServerStreamTracer() {
        @Override
        public void outboundMessageSent(int sequence, long wireSize, long uncompressedSize) {
          if (method.endsWith("SubscribeKvPool") && wireSize >= 0) {
            wireBytes.add(wireSize + GRPC_PREFIX_BYTES + HTTP2_FRAME_HEADER_BYTES);
            wireMessages.increment();
          }
        }
      };
    }
  }

  ProducerIdentity producer() {
    return actor.identity();
  }

  ConnectedSource connect() throws Exception {
    return RelayTransports.connect(
            export.address(), ConnectOptions.defaults(runtime).with(GrpcTransport.ZSTD, zstd))
        .toCompletableFuture()
        .get(10, TimeUnit.SECONDS);
  }

  /** Stores new blocks in one event; returns their worker's hash of the first. */
  long store(int blocks) throws InterruptedException {
    long first = nextHash;
    long[] engine = new long[blocks];
    long[] local = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      engine[i] = nextHash++;
      local[i] = random.nextLong();
    }
    actor.admitBlocking(KvEvent.stored(WORKER, nextEvent++, engine, local).build(), 1);
    return first;
  }

  /** Removes the block that has this hash at its worker. */
  void remove(long hash) throws InterruptedException {
    actor.admitBlocking(KvEvent.removed(WORKER, nextEvent++, new long[] {hash}).build(), 1);
  }

  /** Bytes of pool streams on the wire since the last reset; 0 where there is no wire. */
  long wireBytes() {
    return wireBytes.sum();
  }

  /** Messages of pool streams on the wire since the last reset. */
  long wireMessages() {
    return wireMessages.sum();
  }

  void resetWire() {
    wireBytes.reset();
    wireMessages.reset();
  }

  @Override
  public void close() {
    export.close();
    registry.shutdown();
    runtime.close();
  }
}
