package io.kvrelay.benchmarks;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
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
 * The yardstick for every other figure here: what one cache line costs on this machine when each
 * load waits for the one before it, and when eight loads are under way together. A prefix search
 * cannot beat the first by doing fewer probes one after another, only by moving towards the second.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MemoryLatencyBenchmark {

  private static final int WORDS_PER_LINE = 8;
  private static final int LOADS = 1024;
  private static final int WIDTH = 8;

  /** Bytes walked over: within the caches, and far beyond them. */
  @Param({"32768", "268435456"})
  public int bytes;

  private long[] next = {};
  private int[] heads = {};

  /** Links all lines into one random cycle (Sattolo's shuffle), so no prefetcher can guess. */
  @Setup
  public void link() {
    int lines = bytes / (WORDS_PER_LINE * Long.BYTES);
    int[] order = new int[lines];
    for (int i = 0; i < lines; i++) {
      order[i] = i;
    }
    SplittableRandom random = new SplittableRandom(1);
    for (int i = lines - 1; i > 0; i--) {
      int j = random.nextInt(i);
      int swapped = order[i];
      order[i] = order[j];
      order[j] = swapped;
    }
    next = new long[lines * WORDS_PER_LINE];
    for (int i = 0; i < lines; i++) {
      next[order[i] * WORDS_PER_LINE] = (long) order[(i + 1) % lines] * WORDS_PER_LINE;
    }
    heads = new int[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      heads[i] = order[(int) ((long) lines * i / WIDTH)] * WORDS_PER_LINE;
    }
  }

  /** Each load's address is the value of the load before. */
  @Benchmark
  @OperationsPerInvocation(LOADS)
  public int dependentLoads() {
    int at = heads[0];
    for (int i = 0; i < LOADS; i++) {
      at = (int) next[at];
    }
    heads[0] = at;
    return at;
  }

  /** Eight such walks side by side. */
  @Benchmark
  @OperationsPerInvocation(LOADS)
  public int eightLoadsTogether() {
    int[] at = heads;
    for (int i = 0; i < LOADS / WIDTH; i++) {
      for (int w = 0; w < WIDTH; w++) {
        at[w] = (int) next[at[w]];
      }
    }
    return at[0];
  }
}
