package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.ckf.CkfConfig;
import java.util.Arrays;
import java.util.Locale;

/**
 * {@code delta EXPECTED IMAGES LANES SECONDS}: applies deltas of IMAGES random images, ascending
 * and distinct, to one ready lane of a table of LANES lanes; the same work as the reference's
 * harness of that name. Only applying is timed. The first second, in which the JVM compiles, is not
 * measured.
 */
public final class DeltaBenchmark {
  private static final int IMAGES_PER_BATCH = 100_000;
  private static final double WARM_UP_SECONDS = 1;

  private final LaneIndex index;
  private final LaneIngestor ingestor;
  private final ProducerIdentity identity;
  private final LaneLease lease = ViewLoad.lease(0);
  private final Splitmix random = new Splitmix(3);
  private long sequence = 1;

  private DeltaBenchmark(int expected, int lanes) {
    CkfFormat format = CkfConfig.of(expected).format();
    index = ViewLoad.index(format, lanes);
    identity = ViewLoad.identity(index, 0);
    ingestor = ViewLoad.install(index, 0, new long[format.bucketCount()]);
  }

  /** Runs it. */
  public static void run(String[] args) {
    if (args.length != 4) {
      throw new IllegalArgumentException("delta EXPECTED IMAGES LANES SECONDS");
    }
    int expected = Integer.parseInt(args[0]);
    int images = Integer.parseInt(args[1]);
    DeltaBenchmark benchmark = new DeltaBenchmark(expected, Integer.parseInt(args[2]));
    benchmark.rate(images, WARM_UP_SECONDS);
    System.out.printf(
        Locale.ROOT,
        "{\"bench\":\"delta\",\"expected\":%d,\"images_per_delta\":%d,\"mimages_per_s\":%.2f}%n",
        expected,
        images,
        benchmark.rate(images, Double.parseDouble(args[3])) / 1e6);
  }

  private double rate(int images, double seconds) {
    long applied = 0;
    double elapsed = 0;
    while (elapsed < seconds) {
      LaneDelta[] batch = new LaneDelta[Math.max(1, IMAGES_PER_BATCH / images)];
      Arrays.setAll(batch, i -> delta(images));
      long start = System.nanoTime();
      for (LaneDelta delta : batch) {
        if (ingestor.applyDelta(delta) != IngestResult.DELTA_APPLIED) {
          throw new IllegalStateException(String.valueOf(ingestor.fault()));
        }
        applied += delta.images();
      }
      elapsed += (System.nanoTime() - start) / 1e9;
    }
    return applied / elapsed;
  }

  private LaneDelta delta(int images) {
    int buckets = index.table().buckets();
    int[] chosen = new int[images];
    Arrays.setAll(chosen, i -> random.below(buckets));
    Arrays.sort(chosen);
    int distinct = 0;
    for (int i = 0; i < images; i++) {
      if (i == 0 || chosen[i] != chosen[i - 1]) {
        chosen[distinct++] = chosen[i];
      }
    }
    long[] words = new long[distinct];
    Arrays.setAll(words, i -> random.next());
    return new LaneDelta(identity, lease, sequence, ++sequence, chosen, words, distinct);
  }
}
