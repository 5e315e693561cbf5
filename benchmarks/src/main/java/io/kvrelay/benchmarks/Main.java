package io.kvrelay.benchmarks;

import io.kvrelay.cli.replay.EventFileException;
import io.kvrelay.engine.view.ContentionBenchmark;
import io.kvrelay.engine.view.DeltaBenchmark;
import io.kvrelay.engine.view.SearchBenchmark;
import io.kvrelay.events.zmq.DecodeBenchmark;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/**
 * What {@code benchmarks/run} starts: {@code NAME ARGS...}, where a name is one of {@link
 * #BENCHMARKS}, or {@code jmh REGEX OPTIONS...}.
 *
 * <p>A benchmark prints what it likes; its last line on standard output is its result. Bad input is
 * one line on standard error and exit code 2.
 */
public final class Main {

  /** One benchmark: it gets the arguments after its name. */
  @FunctionalInterface
  interface Benchmark {
    void run(String[] args) throws Exception;
  }

  /** The registry: add a line here. */
  private static final Map<String, Benchmark> BENCHMARKS =
      new TreeMap<>(
          Map.of(
              "contention", ContentionBenchmark::run,
              "decode", DecodeBenchmark::run,
              "delta", DeltaBenchmark::run,
              "jcstress", org.openjdk.jcstress.Main::main,
              "ingest", Ingest::run,
              "ingest-compare", IngestCompare::run,
              "jmh", org.openjdk.jmh.Main::main,
              "search", SearchBenchmark::run,
              "transport", TransportLoad::run));

  private Main() {}

  /** Runs the benchmark named by the first argument. */
  public static void main(String[] args) throws Exception {
    Benchmark benchmark = args.length == 0 ? null : BENCHMARKS.get(args[0]);
    if (benchmark == null) {
      String asked = args.length == 0 ? "a benchmark's name is missing" : "no benchmark " + args[0];
      refuse("benchmarks/run", asked + "; there are " + BENCHMARKS.keySet());
      return;
    }
    try {
      benchmark.run(Arrays.copyOfRange(args, 1, args.length));
    } catch (IllegalArgumentException | EventFileException e) {
      refuse("benchmarks/run " + args[0], String.valueOf(e.getMessage()));
    }
  }

  private static void refuse(String who, String why) {
    System.err.println(who + ": " + why);
    System.exit(2);
  }
}
