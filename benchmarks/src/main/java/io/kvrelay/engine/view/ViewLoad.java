package io.kvrelay.engine.view;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.hash.SequenceHashes;

/**
 * A table filled for a benchmark: prompts, the depth to which each lane holds each of them, and
 * random fingerprints up to the load of the expected blocks. Draws from the generator in exactly
 * the order of the reference's harness, so both search the same prompts in the same words.
 */
final class ViewLoad {
  private static final long CONSUMER = 1;
  private static final int SLOT_BITS = 16;

  final LaneIndex index;
  final long[][] prompts;
  final int[][] depths;
  final LaneIngestor[] ingestors;
  final double installSeconds;
  private final Splitmix random = new Splitmix(7);
  private final Displacements displacements;

  /** Told of every fingerprint that had to make room because both buckets of a block were full. */
  interface Displacements {
    void displaced(int lane, int bucket, int fingerprint);
  }

  ViewLoad(int expected, int lanes, int blocks, String pattern, int queries) {
    this(expected, lanes, blocks, pattern, queries, (lane, bucket, fingerprint) -> {});
  }

  ViewLoad(
      int expected,
      int lanes,
      int blocks,
      String pattern,
      int queries,
      Displacements displacements) {
    this.displacements = displacements;
    CkfFormat format = CkfConfig.of(expected).format();
    prompts = new long[queries][blocks];
    depths = new int[queries][];
    for (int q = 0; q < queries; q++) {
      for (int i = 0; i < blocks; i++) {
        prompts[q][i] = random.next();
      }
      depths[q] = depths(pattern, lanes, blocks);
    }
    warmUp(lanes);
    index = index(format, lanes);
    ingestors = new LaneIngestor[lanes];
    long occupied = (long) (expected / (format.bucketCount() * 4.0) * 65536.0);
    double seconds = 0;
    for (int lane = 0; lane < lanes; lane++) {
      long[] words = filler(format, occupied);
      store(words, lane);
      long start = System.nanoTime();
      ingestors[lane] = install(index, lane, words);
      seconds += (System.nanoTime() - start) / 1e9;
    }
    installSeconds = seconds;
  }

  /** The JVM compiles what installs a lane before that is measured. */
  static void warmUp(int lanes) {
    LaneIndex small = index(new CkfFormat(CkfFormat.DEFAULT_SEED, 1 << 10), lanes);
    long[] words = new long[1 << 10];
    for (int i = 0; i < 20_000; i++) {
      install(small, 0, words).close();
    }
  }

  static LaneIndex index(CkfFormat format, int lanes) {
    PoolId[] pools = new PoolId[lanes];
    for (int lane = 0; lane < lanes; lane++) {
      pools[lane] = pool(lane);
    }
    return new LaneIndex(Manifest.of(CONSUMER, pool(0).indexerDomain(), format, pools));
  }

  private static PoolId pool(int lane) {
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(new Digest(1, 1), IdentitySource.EXPLICIT),
            new RoutingScopeId(new Digest(2, 2), IdentitySource.EXPLICIT)),
        new DcId(lane + 1L));
  }

  static ProducerIdentity identity(LaneIndex index, int lane) {
    return new ProducerIdentity(pool(lane), 1, 1, index.manifest().format());
  }

  static LaneLease lease(int lane) {
    return new LaneLease(CONSUMER, lane, 1);
  }

  /** Claims, assigns and installs; only the last is work that counts. */
  static LaneIngestor install(LaneIndex index, int lane, long[] words) {
    LaneIngestor ingestor = index.claimLane(lane);
    ProducerIdentity identity = identity(index, lane);
    ingestor.assign(identity, lease(lane));
    IngestResult result =
        ingestor.installSnapshot(identity, lease(lane), 1, words, LaneIngestor.ALWAYS);
    if (result != IngestResult.SNAPSHOT_INSTALLED) {
      throw new IllegalStateException(result.toString());
    }
    return ingestor;
  }

  private int[] depths(String pattern, int lanes, int blocks) {
    int[] depths = new int[lanes];
    switch (pattern) {
      case "divergent" -> {
        for (int lane = 0; lane < lanes; lane++) {
          depths[lane] = random.below(blocks + 1L);
        }
      }
      case "agree" -> java.util.Arrays.fill(depths, random.below(blocks + 1L));
      case "skewed" -> {
        java.util.Arrays.fill(depths, random.below(blocks / 8 + 1L));
        int hot = random.below(lanes);
        depths[hot] = blocks - random.below(blocks / 4 + 1L);
      }
      default ->
          throw new IllegalArgumentException(
              "PATTERN = " + pattern + ": must be divergent, agree or skewed");
    }
    return depths;
  }

  private long[] filler(CkfFormat format, long occupied) {
    long[] words = new long[format.bucketCount()];
    for (int i = 0; i < words.length; i++) {
      for (int slot = 0; slot < 4; slot++) {
        long x = random.next();
        if ((x & 0xFFFF) < occupied) {
          words[i] |= Math.max(1, x >>> SLOT_BITS & 0xFFFF) << (SLOT_BITS * slot);
        }
      }
    }
    return words;
  }

  private void store(long[] words, int lane) {
    for (int q = 0; q < prompts.length; q++) {
      long[] chain = SequenceHashes.chain(prompts[q]);
      for (int i = 0; i < depths[q][lane]; i++) {
        long mix = index.addressing().mix(chain[i]);
        int fingerprint = CkfAddressing.fingerprint(mix);
        int a = index.addressing().bucketA(mix);
        int b = index.addressing().alternate(a, fingerprint);
        boolean straight = (random.next() & 1) == 0;
        if (!put(words, straight ? a : b, fingerprint)
            && !put(words, straight ? b : a, fingerprint)) {
          displacements.displaced(lane, a, (int) words[a] & 0xFFFF);
          words[a] = (words[a] & ~0xFFFFL) | fingerprint;
        }
      }
    }
  }

  private static boolean put(long[] words, int bucket, int fingerprint) {
    for (int shift = 0; shift < 64; shift += SLOT_BITS) {
      if ((words[bucket] >>> shift & 0xFFFF) == 0) {
        words[bucket] |= (long) fingerprint << shift;
        return true;
      }
    }
    return false;
  }
}
