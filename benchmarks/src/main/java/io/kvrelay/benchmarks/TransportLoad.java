package io.kvrelay.benchmarks;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.transport.ConnectedSource;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * What a transport costs from a real pool to its subscribers, within one process: snapshots of 2^20
 * buckets (encoded, sent, decoded to frames), and deltas of one block from the moment their event
 * is admitted. {@code transport URI [--fill PERCENT] [--events N] [--rate PER_SECOND] [--no-zstd]}
 * with {@code grpc://127.0.0.1:0} or {@code inproc:bench}.
 */
final class TransportLoad {
  private static final int[] SUBSCRIBERS = {1, 16, 64};
  private static final int WARM_UPS = 4;

  private final String uri;
  private int fillPercent = 50;
  private int events = 1000;
  private int rate = 200;
  private boolean zstd = true;

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

  private void run() throws Exception {
    StringBuilder result = new StringBuilder();
    try (LoadedRelay relay = new LoadedRelay(URI.create(uri), fillPercent, zstd)) {
      for (int i = 0; i < WARM_UPS; i++) {
        measure(relay, SUBSCRIBERS[1]);
      }
      for (int subscribers : SUBSCRIBERS) {
        result.append(result.isEmpty() ? "[" : ",").append(measure(relay, subscribers));
      }
    }
    System.out.println(result.append(']'));
  }

  /** One subscriber: counts its snapshot, then takes the time of each delta. */
  private static final class Reader extends FrameReader {
    private final AtomicLong[] admitted;
    private final long[] latencies;
    private final CountDownLatch snapshots;
    private final CountDownLatch deltas;
    private int taken;
    private long payloadBytes;

    Reader(AtomicLong[] admitted, CountDownLatch snapshots, CountDownLatch deltas) {
      this.admitted = admitted;
      this.latencies = new long[admitted.length];
      this.snapshots = snapshots;
      this.deltas = deltas;
    }

    @Override
    void onSnapshot() {
      snapshots.countDown();
    }

    @Override
    void onDelta(PublicationFrame delta) {
      if (taken < latencies.length) {
        latencies[taken] = System.nanoTime() - admitted[taken].get();
        payloadBytes += delta.payloadBytes();
        if (++taken == latencies.length) {
          deltas.countDown();
        }
      }
    }
  }

  private String measure(LoadedRelay relay, int subscribers) throws Exception {
    AtomicLong[] admitted = new AtomicLong[events];
    Arrays.setAll(admitted, i -> new AtomicLong());
    CountDownLatch snapshots = new CountDownLatch(subscribers);
    CountDownLatch deltas = new CountDownLatch(subscribers);
    List<Reader> readers = new ArrayList<>();
    try (ConnectedSource remote = relay.connect()) {
      var producer = relay.producer();
      for (int i = 0; i < subscribers; i++) {
        readers.add(new Reader(admitted, snapshots, deltas));
      }
      relay.resetWire();
      long cpuStart = cpuNanos();
      long start = System.nanoTime();
      readers.forEach(reader -> remote.pool(producer).subscribe(reader));
      await(snapshots, "snapshots");
      double seconds = (System.nanoTime() - start) / 1e9;
      double cpuSeconds = (cpuNanos() - cpuStart) / 1e9;
      double gigabytes = (double) subscribers * LoadedRelay.BUCKETS * Long.BYTES / 1e9;
      long snapshotBytes = relay.wireBytes() / subscribers;
      relay.resetWire();
      publish(relay, admitted);
      await(deltas, "deltas");
      long[] all =
          readers.stream().flatMapToLong(r -> Arrays.stream(r.latencies)).sorted().toArray();
      long payload = readers.stream().mapToLong(reader -> reader.payloadBytes).sum();
      long perDelta = relay.wireMessages() == 0 ? 0 : relay.wireBytes() / relay.wireMessages();
      return String.format(
          Locale.ROOT,
          "{\"subscribers\":%d,\"snapshot_gb_per_s\":%.3f,\"snapshot_gb_per_cpu_s\":%.3f,\"snapshot_ms\":%.1f,"
              + "\"snapshot_wire_bytes\":%d,\"delta_p50_us\":%.1f,\"delta_p99_us\":%.1f,"
              + "\"delta_wire_bytes\":%d,\"delta_frame_bytes\":%d}",
          subscribers,
          gigabytes / seconds,
          gigabytes / cpuSeconds,
          seconds * 1e3,
          snapshotBytes,
          all[all.length / 2] / 1e3,
          all[(int) (all.length * 0.99)] / 1e3,
          perDelta,
          payload / all.length);
    }
  }

  /** Of the whole process, both ends included: says something on a busy machine, too. */
  private static long cpuNanos() {
    var os = java.lang.management.ManagementFactory.getOperatingSystemMXBean();
    return os instanceof com.sun.management.OperatingSystemMXBean process
        ? process.getProcessCpuTime()
        : 0;
  }

  private void publish(LoadedRelay relay, AtomicLong[] admitted) throws InterruptedException {
    long interval = TimeUnit.SECONDS.toNanos(1) / rate;
    long due = System.nanoTime();
    for (AtomicLong time : admitted) {
      while (System.nanoTime() - due < 0) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      due += interval;
      time.set(System.nanoTime());
      relay.store(1);
    }
  }

  private static void await(CountDownLatch latch, String what) throws InterruptedException {
    if (!latch.await(120, TimeUnit.SECONDS)) {
      throw new IllegalStateException(what + " did not all arrive in 120 s");
    }
  }
}
