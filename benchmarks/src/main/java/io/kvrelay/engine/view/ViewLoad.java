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
import org.jspecify.annotations.Nullable;

/**
 * A table filled for a benchmark: prompts, the depth to which each lane holds each of them, and
 * random fingerprints up to the load of the expected blocks. Draws from the generator in exactly
 * the order of the reference's harness, so both search the same prompts in the same words.
 */
final class ViewLoad {
  private static final long CONSUMER = 1;
  private static final int SLOT_BITS = 16;

  /** Snapshots that are in memory at the same time. */
  private static final int TOGETHER = 16;

  final LaneIndex index;
  final long[][] prompts;
  final int[][] depths;
  final LaneIngestor[] ingestors;
  private long installNanos;
  private long installAloneNanos;
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
    for (int first = 0; first < lanes; first += TOGETHER) {
      long[][] columns = new long[Math.min(TOGETHER, lanes - first)][];
      for (int i = 0; i < columns.length; i++) {
        columns[i] = filler(format, occupied);
        store(columns[i], first + i);
      }
      installAloneNanos += installAlone(index, first, columns);
      installNanos += installTogether(index, ingestors, first, columns);
    }
  }

  private static long installAlone(LaneIndex index, int first, long[][] columns) {
    long nanos = 0;
    for (int i = 0; i < columns.length; i++) {
      LaneIngestor ingestor = assigned(index, first + i);
      ProducerIdentity identity = identity(index, first + i);
      long start = System.nanoTime();
      installSnapshot(index, ingestor, identity, 1, columns[i]);
      nanos += System.nanoTime() - start;
      ingestor.close();
    }
    return nanos;
  }

  /** What an ingestion worker does with snapshots that wait in its queue one behind the other. */
  private static long installTogether(
      LaneIndex index, LaneIngestor[] ingestors, int first, long[][] columns) {
    SnapshotBatch batch = new SnapshotBatch(index.table());
    ProducerIdentity[] identities = new ProducerIdentity[columns.length];
    for (int i = 0; i < columns.length; i++) {
      ingestors[first + i] = assigned(index, first + i);
      identities[i] = identity(index, first + i);
    }
    long start = System.nanoTime();
    for (int i = 0; i < columns.length; i++) {
      int lane = first + i;
      check(ingestors[lane].beginSnapshot(identities[i], lease(lane), 1, columns[i]), null);
      batch.add(lane, columns[i]);
    }
    batch.store();
    for (int i = 0; i < columns.length; i++) {
      check(ingestors[first + i].activate(1, LaneIngestor.ALWAYS), IngestResult.SNAPSHOT_INSTALLED);
    }
    return System.nanoTime() - start;
  }

  /** How long all snapshots took that were installed together. */
  long installNanos() {
    return installNanos;
  }

  /** How long all took one after the other. */
  long installAloneNanos() {
    return installAloneNanos;
  }

  /** The JVM compiles what installs a lane before that is measured. */
  static void warmUp(int lanes) {
    LaneIndex small = index(new CkfFormat(CkfFormat.DEFAULT_SEED, 1 << 10), lanes);
    LaneIngestor[] owners = new LaneIngestor[lanes];
    long[][] columns = new long[Math.min(TOGETHER, lanes)][1 << 10];
    for (int i = 0; i < 20_000; i++) {
      installAlone(small, 0, columns);
      installTogether(small, owners, 0, columns);
      for (int lane = 0; lane < columns.length; lane++) {
        owners[lane].close();
      }
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

  private static LaneIngestor assigned(LaneIndex index, int lane) {
    LaneIngestor ingestor = index.claimLane(lane);
    ingestor.assign(identity(index, lane), lease(lane));
    return ingestor;
  }

  /** Claims, assigns and installs. */
  static LaneIngestor install(LaneIndex index, int lane, long[] words) {
    LaneIngestor ingestor = assigned(index, lane);
    installSnapshot(index, ingestor, identity(index, lane), 1, words);
    return ingestor;
  }

  /** What a worker does with a snapshot that comes alone. */
  static void installSnapshot(
      LaneIndex index,
      LaneIngestor ingestor,
      ProducerIdentity identity,
      long sequence,
      long[] words) {
    int lane = ingestor.lane();
    check(ingestor.beginSnapshot(identity, lease(lane), sequence, words), null);
    index.table().storeColumn(lane, words);
    check(ingestor.activate(sequence, LaneIngestor.ALWAYS), IngestResult.SNAPSHOT_INSTALLED);
  }

  private static void check(@Nullable IngestResult result, @Nullable IngestResult wanted) {
    if (result != wanted) {
      throw new IllegalStateException("installing a snapshot: " + result);
    }
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
