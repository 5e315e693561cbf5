package io.kvrelay.engine.view;

import java.util.concurrent.TimeUnit;
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
import org.openjdk.jmh.annotations.Warmup;

/** One prefix search by lanes and pattern; what wider rows cost. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"-Xms2g", "-Xmx2g", "-XX:+AlwaysPreTouch", "-XX:+UseTransparentHugePages"})
public class PrefixSearchBenchmark {
  /** Lanes of the table. */
  @Param({"1", "4", "16", "64"})
  public int lanes;

  /** How the lanes' depths relate. */
  @Param({"divergent", "agree", "skewed"})
  public String pattern = "";

  /** Blocks of a prompt. */
  @Param({"128"})
  public int blocks;

  /** Blocks each lane expects. */
  @Param({"1000000"})
  public int expected;

  // Set by fill().
  @SuppressWarnings("NullAway.Init")
  private ViewLoad load;

  @SuppressWarnings("NullAway.Init")
  private PrefixQuery query;

  private int next;

  /** Fills the table. */
  @Setup(Level.Trial)
  public void fill() {
    load = new ViewLoad(expected, lanes, blocks, pattern, 2000);
    query = new PrefixQuery(load.index, PrefixQuery.DEFAULT_WINDOW);
  }

  /** One search, from local hashes. */
  @Benchmark
  public int search() {
    long[] prompt = load.prompts[next];
    next = next + 1 == load.prompts.length ? 0 : next + 1;
    query.searchLocals(load.index, prompt, 0, prompt.length);
    return query.depth(lanes - 1);
  }
}
