package io.kvrelay.benchmarks;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.RankReplacement;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Operations on a pool that holds 1 M or 10 M blocks of 16 members, in nanoseconds a block. Run it
 * with {@code -prof gc}: only a drain that somebody subscribed to allocates, and here nobody did.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
    value = 1,
    jvmArgs = {"-Xms4g", "-Xmx4g", "-XX:+AlwaysPreTouch", "-XX:+UseTransparentHugePages"})
public class PoolBenchmark {
  private static final int MEMBERS = 16;
  private static final int BLOCKS = 64;
  private static final int EVENTS = 256;
  private static final int BATCH = BLOCKS * EVENTS;

  @Param({"1000000", "10000000"})
  private int resident;

  private PoolState pool = new PoolState(CkfConfig.of(1), 1);
  private KvEvent[] stores = {};
  private KvEvent[] removals = {};
  private KvEvent[] sharedStores = {};
  private KvEvent[] sharedRemovals = {};
  private KvEvent[] known = {};
  private long nextBlock;
  private int turn;

  /** Fills the pool; every block belongs to one member. */
  @Setup(Level.Trial)
  public void fill() {
    pool = new PoolState(CkfConfig.of(resident + 4L * BATCH), 16);
    known = new KvEvent[resident / BLOCKS];
    for (int i = 0; i < known.length; i++) {
      known[i] = store(i % MEMBERS);
      pool.apply(known[i]);
    }
    stores = new KvEvent[EVENTS];
    removals = new KvEvent[EVENTS];
    sharedStores = new KvEvent[EVENTS];
    sharedRemovals = new KvEvent[EVENTS];
    for (int i = 0; i < EVENTS; i++) {
      stores[i] = store(i % MEMBERS);
      removals[i] = removal(stores[i].member(), stores[i]);
      KvEvent shared = known[(int) ((i * 7919L) % known.length)];
      Member other = member((int) shared.member().workerId() % MEMBERS);
      sharedStores[i] =
          KvEvent.stored(other, i, shared.engineHashes(), shared.localHashes()).build();
      sharedRemovals[i] = removal(other, shared);
    }
  }

  private static Member member(int index) {
    return new Member(index + 1L, 0);
  }

  private KvEvent store(int memberIndex) {
    long[] engineHashes = new long[BLOCKS];
    long[] localHashes = new long[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
      long block = nextBlock++;
      engineHashes[i] = (block + 1) * 0x9E3779B97F4A7C15L;
      localHashes[i] = (block + 1) * 0xBF58476D1CE4E5B9L;
    }
    return KvEvent.stored(member(memberIndex), nextBlock, engineHashes, localHashes).build();
  }

  private static KvEvent removal(Member member, KvEvent stored) {
    return KvEvent.removed(member, stored.eventId(), stored.engineHashes()).build();
  }

  /** Blocks that nobody has are stored, then removed by their only owner. */
  @Benchmark
  @OperationsPerInvocation(2 * BATCH)
  public void storeAndRemove() {
    applyAll(stores);
    applyAll(removals);
  }

  /** Blocks that another member has are stored, then removed again: no work on the filter. */
  @Benchmark
  @OperationsPerInvocation(2 * BATCH)
  public void sharedStoreAndRemove() {
    applyAll(sharedStores);
    applyAll(sharedRemovals);
  }

  /** Blocks that the member has are stored again: nothing changes. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public void storeAgain() {
    for (int i = 0; i < EVENTS; i++) {
      pool.apply(known[turn]);
      turn = turn + 1 == known.length ? 0 : turn + 1;
    }
  }

  /** A cache at its limit: the oldest blocks go, then come back, through all resident blocks. */
  @Benchmark
  @OperationsPerInvocation(2 * BATCH)
  public void churn() {
    for (int i = 0; i < EVENTS; i++) {
      KvEvent event = known[turn];
      pool.apply(removal(event.member(), event));
      pool.apply(event);
      turn = turn + 1 == known.length ? 0 : turn + 1;
    }
  }

  /** One small rank is replaced, which rebuilds the pool; a whole rebuild an operation. */
  @Benchmark
  @OutputTimeUnit(TimeUnit.MILLISECONDS)
  @Measurement(iterations = 3, time = 5)
  public void replacement() {
    Member extra = new Member(1000, 0);
    RankReplacement content = new RankReplacement(extra);
    KvEvent store = stores[0];
    content.push(KvEvent.stored(extra, 1, store.engineHashes(), store.localHashes()).build());
    pool.replaceRanks(Map.of(extra, content));
    pool.drain();
  }

  private void applyAll(KvEvent[] events) {
    for (KvEvent event : events) {
      pool.apply(event);
    }
  }
}
