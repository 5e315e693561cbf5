package io.kvrelay.benchmarks;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.transport.ConnectedSource;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
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
 * A transport end to end, one thing at a time: a delta from the admission of its event to the last
 * subscriber's hand, and a snapshot of 2^20 buckets from the subscription to the last subscriber's
 * last chunk. Both ends run in this process; {@link TransportLoad} measures the same under a steady
 * rate of events.
 */
@Fork(1)
public class TransportBenchmark {
  private static final int PATIENCE_SECONDS = 120;

  /** A relay and a connection to it. */
  @State(Scope.Benchmark)
  public static class Link {
    /** Where the relay is exported. */
    @Param("grpc://127.0.0.1:0")
    public String uri = "";

    /** Streams of the one pool, over one connection. */
    @Param({"1", "16", "64"})
    public int subscribers;

    /** How full the filter is. */
    @Param("50")
    public int fillPercent;

    /** Whether gRPC compresses. */
    @Param("false")
    public boolean zstd;

    private final List<Reader> readers = new ArrayList<>();
    private @Nullable LoadedRelay relay;
    private @Nullable ConnectedSource remote;
    private long stored;
    private long changes;
    private final LongAdder deltas = new LongAdder();
    private volatile CountDownLatch arrivals = new CountDownLatch(0);

    /** Fills the pool, exports it, connects. */
    @Setup
    public void open() throws Exception {
      relay = new LoadedRelay(URI.create(uri), fillPercent, zstd);
      remote = relay.connect();
    }

    /** Closes everything. */
    @TearDown
    public void close() {
      if (remote != null) {
        remote.close();
      }
      if (relay != null) {
        relay.close();
      }
    }

    private void subscribe() throws InterruptedException {
      arrivals = new CountDownLatch(subscribers);
      for (int i = 0; i < subscribers; i++) {
        Reader reader = new Reader(this);
        readers.add(reader);
        if (remote != null && relay != null) {
          remote.pool(relay.producer()).subscribe(reader);
        }
      }
      await();
    }

    private void unsubscribe() {
      readers.forEach(FrameReader::cancel);
      readers.clear();
    }

    /** One event; stores and removes take turns, so that the filter stays as full as it is. */
    private void change() throws InterruptedException {
      changes++;
      arrivals = new CountDownLatch(subscribers);
      if (relay != null) {
        if (stored == 0) {
          stored = relay.store(1);
        } else {
          relay.remove(stored);
          stored = 0;
        }
      }
      await();
    }

    /** What a round has waited for was its own delta only if there were no others. */
    private void checkDeltas() {
      if (deltas.sum() != changes * subscribers) {
        throw new IllegalStateException(
            deltas + " deltas at " + subscribers + " subscribers of " + changes + " events");
      }
    }

    private void await() throws InterruptedException {
      if (!arrivals.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException(arrivals.getCount() + " subscribers still wait");
      }
    }
  }

  private static final class Reader extends FrameReader {
    private final Link link;

    Reader(Link link) {
      this.link = link;
    }

    @Override
    void onSnapshot() {
      link.arrivals.countDown();
    }

    @Override
    void onDelta(PublicationFrame delta) {
      link.deltas.increment();
      link.arrivals.countDown();
    }
  }

  /** A link whose subscribers have their snapshots. */
  @State(Scope.Benchmark)
  public static class Subscribed {
    private @Nullable Link link;

    /** Subscribes everybody. */
    @Setup
    public void subscribe(Link to) throws InterruptedException {
      link = to;
      to.subscribe();
    }

    /** Checks the count, then lets everybody go. */
    @TearDown
    public void unsubscribe() {
      if (link != null) {
        link.checkDeltas();
        link.unsubscribe();
      }
    }
  }

  /** A link whose subscribers leave after each round. */
  @State(Scope.Benchmark)
  public static class Fresh {
    private @Nullable Link link;

    /** Takes the link. */
    @Setup
    public void take(Link to) {
      link = to;
    }

    /** Lets everybody go. */
    @TearDown(Level.Invocation)
    public void unsubscribe() {
      if (link != null) {
        link.unsubscribe();
      }
    }
  }

  /** One delta of one block to everybody. */
  @Benchmark
  @BenchmarkMode(Mode.SampleTime)
  @OutputTimeUnit(TimeUnit.MICROSECONDS)
  @Warmup(iterations = 3, time = 2)
  @Measurement(iterations = 3, time = 3)
  public void delta(Link link, Subscribed subscribed) throws InterruptedException {
    link.change();
  }

  /** A snapshot to everybody, of {@code subscribers} times 8.39 MB. */
  @Benchmark
  @BenchmarkMode(Mode.SingleShotTime)
  @OutputTimeUnit(TimeUnit.MILLISECONDS)
  @Warmup(iterations = 3)
  @Measurement(iterations = 5)
  public void snapshot(Link link, Fresh fresh) throws InterruptedException {
    link.subscribe();
  }
}
