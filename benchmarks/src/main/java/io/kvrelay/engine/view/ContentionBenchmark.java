package io.kvrelay.engine.view;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code contention EXPECTED LANES N PATTERN QUERIES SECONDS}: latency of queries alone, and beside
 * a writer that applies deltas of 64 images to lane 0 as fast as it can. The images repeat the
 * words that are there, so that the work of the queries stays the same.
 */
public final class ContentionBenchmark {
  private static final int IMAGES = 64;
  private static final int SAMPLES = 1 << 22;

  private ContentionBenchmark() {}

  /** Runs it. */
  public static void run(String[] args) throws InterruptedException {
    if (args.length != 6) {
      throw new IllegalArgumentException("contention EXPECTED LANES N PATTERN QUERIES SECONDS");
    }
    double seconds = Double.parseDouble(args[5]);
    ViewLoad load =
        new ViewLoad(
            Integer.parseInt(args[0]),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[2]),
            args[3],
            Integer.parseInt(args[4]));
    measure(load, 2);
    int[] alone = measure(load, seconds);
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong images = new AtomicLong();
    Thread writer = new Thread(() -> images.set(write(load, stop)));
    writer.start();
    long start = System.nanoTime();
    int[] beside = measure(load, seconds);
    stop.set(true);
    writer.join();
    System.out.printf(
        Locale.ROOT,
        "{\"bench\":\"contention\",\"n\":%s,\"pattern\":\"%s\",\"alone_p50_us\":%.2f,"
            + "\"alone_p99_us\":%.2f,\"p50_us\":%.2f,\"p99_us\":%.2f,\"writer_mimages_per_s\":%.2f}%n",
        args[2],
        args[3],
        alone[alone.length / 2] / 1e3,
        alone[(int) (alone.length * 99L / 100)] / 1e3,
        beside[beside.length / 2] / 1e3,
        beside[(int) (beside.length * 99L / 100)] / 1e3,
        images.get() * 1e3 / (System.nanoTime() - start));
  }

  private static int[] measure(ViewLoad load, double seconds) {
    PrefixQuery query = new PrefixQuery(load.index, PrefixQuery.DEFAULT_WINDOW);
    int[] nanos = new int[SAMPLES];
    int samples = 0;
    long start = System.nanoTime();
    while (samples < SAMPLES && System.nanoTime() - start < seconds * 1e9) {
      long[] prompt = load.prompts[samples % load.prompts.length];
      long before = System.nanoTime();
      query.searchLocals(load.index, prompt, 0, prompt.length);
      nanos[samples++] = (int) (System.nanoTime() - before);
    }
    int[] sorted = Arrays.copyOf(nanos, samples);
    Arrays.sort(sorted);
    return sorted;
  }

  private static long write(ViewLoad load, AtomicBoolean stop) {
    Splitmix random = new Splitmix(5);
    LaneIngestor ingestor = load.ingestors[0];
    TransposedTable table = load.index.table();
    int[] buckets = new int[IMAGES];
    long[] words = new long[IMAGES];
    long sequence = ingestor.installedSequence();
    long applied = 0;
    while (!stop.get()) {
      int first = random.below(table.buckets());
      for (int i = 0; i < IMAGES; i++) {
        // An odd step through a power of two repeats no bucket.
        buckets[i] = (first + i * 7919) & (table.buckets() - 1);
        words[i] = table.get(buckets[i], 0);
      }
      LaneDelta delta =
          new LaneDelta(
              ViewLoad.identity(load.index, 0),
              ViewLoad.lease(0),
              sequence,
              ++sequence,
              buckets,
              words,
              IMAGES);
      if (ingestor.applyDelta(delta) != IngestResult.DELTA_APPLIED) {
        throw new IllegalStateException(String.valueOf(ingestor.fault()));
      }
      applied += IMAGES;
    }
    return applied;
  }
}
