package io.kvrelay.benchmarks;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PublicationFrame;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * What a transport costs from a real pool to its subscribers, within one process: snapshots of 2^20
 * buckets (encoded, sent, decoded to frames), and deltas of one block from the moment their event
 * is admitted. {@code transport URI [--fill PERCENT] [--events N] [--rate PER_SECOND] [--no-zstd]}
 * with {@code grpc://127.0.0.1:0} or {@code inproc:bench}.
 */
final class TransportLoad {
  private static final int BUCKETS = 1 << 20;
  private static final long BLOCKS = 2L << 20;
  private static final int[] SUBSCRIBERS = {1, 16, 64};
  private static final int WARM_UPS = 4;
  private static final int HTTP2_FRAME_HEADER_BYTES = 9;

  private final String uri;
  private int fillPercent = 50;
  private int events = 1000;
  private int rate = 200;
  private boolean zstd = true;

  private final LongAdder wireBytes = new LongAdder();
  private final LongAdder wireMessages = new LongAdder();

  private TransportLoad(String uri) {
    this.uri = uri;
  }

  static void run(String[] args) throws Exception {
    TransportLoad load = new TransportLoad(args.length == 0 ? "grpc://127.0.0.1:0" : args[0]);
    for (int i = 1; i < args.length; i++) {
      switch (args[i]) {
        case "--fill" -> load.fillPercent = Integer.parseInt(args[++i]);
        case "--events" -> load.events = Integer.parseInt(args[++i]);
        case "--rate" -> load.rate = Integer.parseInt(args[++i]);
        case "--no-zstd" -> load.zstd = false;
        default -> throw new IllegalArgumentException("option " + args[i] + ": unknown");
      }
    }
    load.run();
  }

  /** Counts what the framer wrote: compressed messages with their five-byte prefix. */
  private final class WireCounter extends ServerStreamTracer.Factory {
    @Override
    public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
      return new ServerStreamTracer() {
        @Override
        public void outboundMessageSent(int sequence, long wireSize, long uncompressedSize) {
          if (method.endsWith("SubscribeKvPool") && wireSize >= 0) {
            wireBytes.add(wireSize + 5 + HTTP2_FRAME_HEADER_BYTES);
            wireMessages.increment();
          }
        }
      };
    }
  }

  private void run() throws Exception {
    try (SystemRuntime runtime = SystemRuntime.create()) {
      PoolRegistry registry =
          PoolRegistry.create(
              new RelayIdentity(1, 2),
              // Deep enough that a busy machine shows as latency and not as a lagged stream.
              PublicationConfig.builder()
                  .publicationQueueCapacity(4096)
                  .maxPoolStreamsTotal(128)
                  .maxSubscribersPerPool(128)
                  .build(),
              runtime);
      PoolConfig config =
          PoolConfig.builder().expectedUniqueBlocks(BLOCKS).publicationThreshold(1).build();
      PoolActor actor = attach(registry, config, runtime);
      fill(actor);
      ExportOptions options =
          ExportOptions.defaults(runtime)
              .withLimits(TransportLimits.builder().maxPoolStreamsTotal(128).build())
              .with(GrpcTransport.ZSTD, zstd);
      if (uri.startsWith("grpc:")) {
        options =
            GrpcTransport.withServerBuilder(
                options, builder -> builder.addStreamTracerFactory(new WireCounter()));
      }
      StringBuilder result = new StringBuilder();
      try (RelayExport export =
          RelayTransports.export(registry.source(), URI.create(uri), options)) {
        for (int i = 0; i < WARM_UPS; i++) {
          measure(export, actor, SUBSCRIBERS[1], runtime);
        }
        for (int subscribers : SUBSCRIBERS) {
          result
              .append(result.isEmpty() ? "[" : ",")
              .append(measure(export, actor, subscribers, runtime));
        }
      }
      System.out.println(result.append(']'));
      registry.shutdown();
    }
  }

  private PoolActor attach(PoolRegistry registry, PoolConfig config, SystemRuntime runtime) {
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
              PoolActor actor = new PoolActor(config, identity, runtime);
              made.set(actor);
              return actor;
            })
        .join();
    return java.util.Objects.requireNonNull(made.get());
  }

  private long nextHash = 1;
  private long nextEvent;

  private void fill(PoolActor actor) throws InterruptedException {
    long blocks = BLOCKS * fillPercent / 100;
    SplittableRandom random = new SplittableRandom(1);
    for (long done = 0; done < blocks; done += 512) {
      actor.admitBlocking(stored(512, random), 1);
    }
    actor.flush().toCompletableFuture().join();
  }

  private KvEvent stored(int blocks, SplittableRandom random) {
    long[] engine = new long[blocks];
    long[] local = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      engine[i] = nextHash++;
      local[i] = random.nextLong();
    }
    return KvEvent.stored(new Member(1, 0), nextEvent++, engine, local).build();
  }

  /** One subscriber: counts its snapshot, then takes the time of each delta. */
  private static final class Reader implements Flow.Subscriber<PublicationFrame> {
    private final AtomicLong[] admitted;
    private final long[] latencies;
    private final CountDownLatch snapshots;
    private final CountDownLatch deltas;
    private int chunks;
    private int taken;

    Reader(AtomicLong[] admitted, CountDownLatch snapshots, CountDownLatch deltas) {
      this.admitted = admitted;
      this.latencies = new long[admitted.length];
      this.snapshots = snapshots;
      this.deltas = deltas;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(PublicationFrame frame) {
      if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK) {
        if (++chunks == BUCKETS / 524_288) {
          snapshots.countDown();
        }
      } else if (frame.kind() == PublicationFrame.Kind.DELTA && taken < latencies.length) {
        latencies[taken] = System.nanoTime() - admitted[taken].get();
        if (++taken == latencies.length) {
          deltas.countDown();
        }
      }
    }

    @Override
    public void onError(Throwable failure) {
      System.err.println("a stream failed: " + failure);
    }

    @Override
    public void onComplete() {}
  }

  private String measure(
      RelayExport export, PoolActor actor, int subscribers, SystemRuntime runtime)
      throws Exception {
    AtomicLong[] admitted = new AtomicLong[events];
    Arrays.setAll(admitted, i -> new AtomicLong());
    CountDownLatch snapshots = new CountDownLatch(subscribers);
    CountDownLatch deltas = new CountDownLatch(subscribers);
    List<Reader> readers = new ArrayList<>();
    try (ConnectedSource remote = connect(export, runtime)) {
      var producer = actor.identity();
      for (int i = 0; i < subscribers; i++) {
        readers.add(new Reader(admitted, snapshots, deltas));
      }
      wireBytes.reset();
      long cpuStart = cpuNanos();
      long start = System.nanoTime();
      readers.forEach(reader -> remote.pool(producer).subscribe(reader));
      await(snapshots, "snapshots");
      double seconds = (System.nanoTime() - start) / 1e9;
      double cpuSeconds = (cpuNanos() - cpuStart) / 1e9;
      double gigabytes = (double) subscribers * BUCKETS * Long.BYTES / 1e9;
      long snapshotBytes = wireBytes.sum() / subscribers;
      wireBytes.reset();
      wireMessages.reset();
      publish(actor, admitted);
      await(deltas, "deltas");
      long[] all =
          readers.stream().flatMapToLong(r -> Arrays.stream(r.latencies)).sorted().toArray();
      long perDelta = wireMessages.sum() == 0 ? 0 : wireBytes.sum() / wireMessages.sum();
      return String.format(
          Locale.ROOT,
          "{\"subscribers\":%d,\"snapshot_gb_per_s\":%.3f,\"snapshot_gb_per_cpu_s\":%.3f,\"snapshot_ms\":%.1f,"
              + "\"snapshot_wire_bytes\":%d,\"delta_p50_us\":%.1f,\"delta_p99_us\":%.1f,"
              + "\"delta_wire_bytes\":%d}",
          subscribers,
          gigabytes / seconds,
          gigabytes / cpuSeconds,
          seconds * 1e3,
          snapshotBytes,
          all[all.length / 2] / 1e3,
          all[(int) (all.length * 0.99)] / 1e3,
          perDelta);
    }
  }

  /** Of the whole process, both ends included: says something on a busy machine, too. */
  private static long cpuNanos() {
    var os = java.lang.management.ManagementFactory.getOperatingSystemMXBean();
    return os instanceof com.sun.management.OperatingSystemMXBean process
        ? process.getProcessCpuTime()
        : 0;
  }

  private ConnectedSource connect(RelayExport export, SystemRuntime runtime) throws Exception {
    return RelayTransports.connect(
            export.address(), ConnectOptions.defaults(runtime).with(GrpcTransport.ZSTD, zstd))
        .toCompletableFuture()
        .get(10, TimeUnit.SECONDS);
  }

  private void publish(PoolActor actor, AtomicLong[] admitted) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(nextHash);
    long interval = TimeUnit.SECONDS.toNanos(1) / rate;
    long due = System.nanoTime();
    for (AtomicLong time : admitted) {
      KvEvent event = stored(1, random);
      while (System.nanoTime() - due < 0) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      due += interval;
      time.set(System.nanoTime());
      actor.admitBlocking(event, 1);
    }
  }

  private static void await(CountDownLatch latch, String what) throws InterruptedException {
    if (!latch.await(120, TimeUnit.SECONDS)) {
      throw new IllegalStateException(what + " did not all arrive in 120 s");
    }
  }
}
