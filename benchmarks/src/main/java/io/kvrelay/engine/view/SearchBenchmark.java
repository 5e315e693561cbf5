package io.kvrelay.engine.view;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * {@code search EXPECTED LANES N PATTERN QUERIES SECONDS THREADS}: fills LANES lanes to the load of
 * EXPECTED blocks and searches for N-block prompts from local hashes; the same work, in the same
 * words, as the reference's harness of that name. Latency is taken per query. The first seconds, in
 * which the JVM compiles, are not measured. {@code install_gbps} is the rate at which snapshots
 * that have all arrived are installed, {@code install_alone_gbps} that of one after the other.
 */
public final class SearchBenchmark {
  private static final double WARM_UP_SECONDS = 2;
  private static final int QUERIES_PER_CLOCK = 16;
  private static final int MAX_SAMPLES = 1 << 24;

  private SearchBenchmark() {}

  @SuppressWarnings("ArrayRecordComponent") // a hand-over, never compared
  private record Measured(long queries, int[] nanos) {}

  /** Runs it. */
  public static void run(String[] args) throws InterruptedException {
    if (args.length != 7) {
      throw new IllegalArgumentException("search EXPECTED LANES N PATTERN QUERIES SECONDS THREADS");
    }
    int expected = Integer.parseInt(args[0]);
    int lanes = Integer.parseInt(args[1]);
    int blocks = Integer.parseInt(args[2]);
    String pattern = args[3];
    double seconds = Double.parseDouble(args[5]);
    int threads = Integer.parseInt(args[6]);
    ViewLoad load = new ViewLoad(expected, lanes, blocks, pattern, Integer.parseInt(args[4]));
    long[] accuracy = accuracy(load, lanes);
    measureAll(load, WARM_UP_SECONDS, threads);
    List<Measured> all = measureAll(load, seconds, threads);
    int[] nanos = all.stream().flatMapToInt(m -> Arrays.stream(m.nanos())).sorted().toArray();
    long queries = all.stream().mapToLong(Measured::queries).sum();
    double words = (double) lanes * load.index.table().buckets() * Long.BYTES;
    System.out.printf(
        Locale.ROOT,
        "{\"bench\":\"search\",\"expected\":%d,\"lanes\":%d,\"n\":%d,\"pattern\":\"%s\",\"threads\":%d,"
            + "\"kqps\":%.1f,\"p50_us\":%.2f,\"p99_us\":%.2f,\"mean_us\":%.2f,\"exact\":%.5f,"
            + "\"under\":%d,\"install_gbps\":%.2f,\"install_alone_gbps\":%.2f}%n",
        expected,
        lanes,
        blocks,
        pattern,
        threads,
        queries / seconds / 1e3,
        nanos[nanos.length / 2] / 1e3,
        nanos[(int) (nanos.length * 99L / 100)] / 1e3,
        Arrays.stream(nanos).average().orElse(0) / 1e3,
        (double) accuracy[0] / accuracy[2],
        accuracy[1],
        words / load.installNanos(),
        words / load.installAloneNanos());
  }

  /** Exact depths, depths below the stored ones, depths. */
  private static long[] accuracy(ViewLoad load, int lanes) {
    PrefixQuery query = new PrefixQuery(load.index, PrefixQuery.DEFAULT_WINDOW);
    long[] counts = new long[3];
    for (int q = 0; q < load.prompts.length; q++) {
      query.searchLocals(load.index, load.prompts[q], 0, load.prompts[q].length);
      for (int lane = 0; lane < lanes; lane++) {
        int difference = query.depth(lane) - load.depths[q][lane];
        counts[0] += difference == 0 ? 1 : 0;
        counts[1] += difference < 0 ? 1 : 0;
        counts[2]++;
      }
    }
    return counts;
  }

  private static List<Measured> measureAll(ViewLoad load, double seconds, int threads)
      throws InterruptedException {
    Measured[] measured = new Measured[threads];
    List<Thread> running = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int thread = t;
      running.add(new Thread(() -> measured[thread] = measure(load, seconds, thread)));
    }
    running.forEach(Thread::start);
    for (Thread thread : running) {
      thread.join();
    }
    return List.of(measured);
  }

  private static Measured measure(ViewLoad load, double seconds, int thread) {
    PrefixQuery query = new PrefixQuery(load.index, PrefixQuery.DEFAULT_WINDOW);
    int[] nanos = new int[MAX_SAMPLES];
    long[][] prompts = load.prompts;
    long samples = 0;
    int next = thread * 977 % prompts.length;
    long checked = 0;
    long start = System.nanoTime();
    while (System.nanoTime() - start < seconds * 1e9) {
      for (int i = 0; i < QUERIES_PER_CLOCK; i++) {
        long[] prompt = prompts[next];
        next = next + 1 == prompts.length ? 0 : next + 1;
        long before = System.nanoTime();
        query.searchLocals(load.index, prompt, 0, prompt.length);
        nanos[(int) (samples++ % MAX_SAMPLES)] = (int) (System.nanoTime() - before);
        checked += query.capturedLanes();
      }
    }
    if (checked == 0) {
      throw new IllegalStateException("no lane was ready");
    }
    return new Measured(samples, Arrays.copyOf(nanos, (int) Math.min(samples, MAX_SAMPLES)));
  }
}
