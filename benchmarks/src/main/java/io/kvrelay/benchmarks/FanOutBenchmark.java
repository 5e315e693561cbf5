package io.kvrelay.benchmarks;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.cbi1.Cbi1Encoder;
import io.kvrelay.engine.pool.DeltaReceiver;
import io.kvrelay.engine.pool.PoolDelta;
import io.kvrelay.engine.pool.PoolProducer;
import io.kvrelay.engine.pool.PoolSnapshot;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One delta of 40 images from its pool to all subscribers: validated, encoded once, queued for each
 * and taken by each, all on one thread, so that the figure is work and not scheduling. The encoding
 * alone stands next to it: what is above it is the price of the subscribers.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class FanOutBenchmark {
  private static final int IMAGES = 40;
  private static final int BUCKETS = 1 << 16;

  /** Streams of the one pool. */
  @Param({"1", "16", "64"})
  public int subscribers;

  /** Whether the subscribers are at the relay itself or behind an in-process link. */
  @Param({"relay", "inproc"})
  public String at = "relay";

  private final Ring runtime = new Ring();
  private final int[] buckets = new int[IMAGES];
  private final long[] words = new long[IMAGES];
  private final CkfFormat format = new CkfFormat(CkfFormat.DEFAULT_SEED, BUCKETS);
  private final Cbi1Encoder encoder = new Cbi1Encoder(format, 1);
  private @Nullable Producer producer;
  private @Nullable AutoCloseable export;
  private long delivered;
  private long sequence;

  /** Attaches a pool and lets everybody subscribe. */
  @Setup
  public void subscribe() {
    for (int i = 0; i < IMAGES; i++) {
      buckets[i] = i * 1601;
    }
    PoolRegistry registry =
        PoolRegistry.create(new RelayIdentity(1, 2), PublicationConfig.DEFAULTS, runtime);
    PoolSpec spec = spec();
    CompletableFuture<PoolHandle> attached = registry.attach(spec, Producer::new);
    runtime.runUntilIdle();
    PoolHandle handle = attached.join();
    producer = (Producer) handle.producer();
    RelayPublicationSource source = at.equals("relay") ? registry.source() : linked(registry);
    for (int i = 0; i < subscribers; i++) {
      source.pool(handle.identity()).subscribe(new Counting());
      runtime.runUntilIdle();
    }
    if (delivered != subscribers) {
      throw new IllegalStateException(delivered + " of " + subscribers + " have their snapshot");
    }
  }

  private RelayPublicationSource linked(PoolRegistry registry) {
    URI address = URI.create("inproc:fan-out");
    export = RelayTransports.export(registry.source(), address, ExportOptions.defaults(runtime));
    var connecting =
        RelayTransports.connect(address, ConnectOptions.defaults(runtime)).toCompletableFuture();
    runtime.runUntilIdle();
    return connecting.join();
  }

  /** Frees the name. */
  @TearDown(Level.Trial)
  public void close() throws Exception {
    if (export != null) {
      export.close();
    }
  }

  /** Yardstick: the frame alone. */
  @Benchmark
  public ByteBuffer encodeOnly() {
    words[3]++;
    sequence++;
    return encoder.delta(sequence, sequence - 1, buckets, words, IMAGES);
  }

  /** From the pool to every subscriber. */
  @Benchmark
  public long deliverToAll() {
    words[3]++;
    if (producer != null) {
      producer.publish(buckets, words);
    }
    runtime.runUntilIdle();
    return delivered;
  }

  private PoolSpec spec() {
    Digest digest = Digest.of(new byte[16]);
    PoolId poolId =
        new PoolId(
            new IndexerDomainId(
                new CacheSemanticsId(digest, IdentitySource.EXPLICIT),
                new RoutingScopeId(digest, IdentitySource.EXPLICIT)),
            new DcId(1));
    return new PoolSpec(
        poolId,
        new EndpointId("ns", "backend", "generate"),
        format,
        List.of(ModelRegistration.base("model")),
        new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1),
        List.of(WorkerRole.AGGREGATED));
  }

  private final class Counting implements Flow.Subscriber<PublicationFrame> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(PublicationFrame frame) {
      delivered++;
    }

    @Override
    public void onError(Throwable error) {
      throw new IllegalStateException(error);
    }

    @Override
    public void onComplete() {}
  }

  /** A pool without a filter: it hands over what it is given. */
  private static final class Producer implements PoolProducer, DeltaReceiver {
    private final ProducerIdentity identity;
    private @Nullable LaneLease lease;
    private @Nullable PoolDelta waiting;
    private Runnable wake = () -> {};
    private long sequence;

    private Producer(ProducerIdentity identity) {
      this.identity = identity;
    }

    void publish(int[] buckets, long[] words) {
      LaneLease to = lease;
      if (to != null) {
        waiting = new PoolDelta(identity, to, sequence, sequence + 1, buckets, words);
        sequence++;
        wake.run();
      }
    }

    @Override
    public ProducerIdentity identity() {
      return identity;
    }

    @Override
    public CompletionStage<PoolSnapshot> subscribe(LaneLease newLease) {
      lease = newLease;
      return CompletableFuture.completedFuture(
          new PoolSnapshot(identity, newLease, sequence, new long[BUCKETS], this));
    }

    @Override
    public CompletionStage<Void> retireLease(LaneLease old) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void fence(String reason) {
      throw new IllegalStateException(reason);
    }

    @Override
    public CompletionStage<Void> terminated() {
      return new CompletableFuture<>();
    }

    @Override
    public @Nullable PoolDelta poll() {
      PoolDelta next = waiting;
      waiting = null;
      return next;
    }

    @Override
    public boolean isOverrun() {
      return false;
    }

    @Override
    public boolean isClosed() {
      return false;
    }

    @Override
    public void onSignal(Runnable callback) {
      wake = callback;
    }

    @Override
    public void close() {}
  }

  /** Runs tasks on the caller, in order; timers never fire. */
  private static final class Ring implements RelayRuntime, Executor {
    private final @Nullable Runnable[] tasks = new Runnable[1 << 12];
    private int head;
    private int tail;

    @Override
    public void execute(Runnable task) {
      tasks[tail++ & (tasks.length - 1)] = task;
    }

    void runUntilIdle() {
      while (head != tail) {
        Runnable task = tasks[head++ & (tasks.length - 1)];
        if (task != null) {
          task.run();
        }
      }
    }

    @Override
    public long nanoTime() {
      return 0;
    }

    @Override
    public long currentTimeMillis() {
      return 0;
    }

    @Override
    public Executor executor() {
      return this;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return () -> {};
    }

    @Override
    public long randomLong() {
      return 0;
    }
  }
}
