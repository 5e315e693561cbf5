package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

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
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Identities, leases and inputs that the lane tests share. */
final class LaneFixtures {
  static final long CONSUMER = 11;
  static final int BUCKETS = 128;
  static final CkfFormat FORMAT = new CkfFormat(CkfFormat.DEFAULT_SEED, BUCKETS);
  static final IndexerDomainId DOMAIN = domain(1, IdentitySource.EXPLICIT);

  private LaneFixtures() {}

  static IndexerDomainId domain(long digest, IdentitySource source) {
    return new IndexerDomainId(
        new CacheSemanticsId(new Digest(digest, digest), source),
        new RoutingScopeId(new Digest(2, 2), source));
  }

  static PoolId pool(long dc) {
    return new PoolId(DOMAIN, new DcId(dc));
  }

  /** Lane i stands for data center i + 1. */
  static PoolId[] pools(int lanes) {
    PoolId[] pools = new PoolId[lanes];
    for (int i = 0; i < lanes; i++) {
      pools[i] = pool(i + 1L);
    }
    return pools;
  }

  static Manifest manifest(int lanes) {
    return Manifest.of(CONSUMER, DOMAIN, FORMAT, pools(lanes));
  }

  static ProducerIdentity identity(int lane) {
    return identity(lane, 1);
  }

  static ProducerIdentity identity(int lane, long generation) {
    return new ProducerIdentity(pool(lane + 1L), 77, generation, FORMAT);
  }

  static LaneLease lease(int lane, long epoch) {
    return new LaneLease(CONSUMER, lane, epoch);
  }

  static long[] words(long value) {
    long[] words = new long[BUCKETS];
    java.util.Arrays.fill(words, value);
    return words;
  }

  /** What a worker does with a snapshot that comes alone. */
  static IngestResult install(
      LaneIngestor ingestor,
      TransposedTable table,
      ProducerIdentity identity,
      LaneLease lease,
      long sequence,
      long[] words,
      LaneIngestor.ActivationGuard guard) {
    IngestResult refused = ingestor.beginSnapshot(identity, lease, sequence, words);
    if (refused != null) {
      return refused;
    }
    table.storeColumn(ingestor.lane(), words);
    return ingestor.activate(sequence, guard);
  }

  static LaneDelta delta(int lane, long epoch, long base, long sequence, long... bucketsAndWords) {
    return delta(identity(lane), lease(lane, epoch), base, sequence, bucketsAndWords);
  }

  static LaneDelta delta(
      ProducerIdentity identity, LaneLease lease, long base, long sequence, long... images) {
    int count = images.length / 2;
    int[] buckets = new int[count];
    long[] words = new long[count];
    for (int i = 0; i < count; i++) {
      buckets[i] = (int) images[2 * i];
      words[i] = images[2 * i + 1];
    }
    return new LaneDelta(identity, lease, base, sequence, buckets, words, count);
  }

  static LaneError errorOf(ThrowingCallable call) {
    LaneException thrown = catchThrowableOfType(LaneException.class, call);
    return thrown == null ? null : thrown.error();
  }

  /** The value of a stage that is complete. */
  static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().getNow(null);
  }

  /** The error with which a stage has failed, or null if it has succeeded. */
  static LaneError errorOf(CompletionStage<?> stage) {
    assertThat(stage.toCompletableFuture()).isDone();
    try {
      stage.toCompletableFuture().getNow(null);
      return null;
    } catch (CompletionException e) {
      return ((LaneException) e.getCause()).error();
    }
  }
}
