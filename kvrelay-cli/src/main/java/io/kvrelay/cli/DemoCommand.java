package io.kvrelay.cli;

import io.kvrelay.cli.demo.Addresses;
import io.kvrelay.cli.demo.Demo;
import io.kvrelay.cli.demo.DemoReport;
import io.kvrelay.cli.demo.DemoSettings;
import io.kvrelay.cli.demo.PolicyName;
import io.kvrelay.cli.demo.Workload;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kvrelay demo}. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Runs data centers full of simulated engines in this process, with a relay in each and one"
          + " router, and compares routing policies on one input.",
      ""
    },
    footer = {
      "",
      "kv and exact take the longest reusable prefix among the data centers whose recent load is"
          + " at most 1.25 times the mean; kv asks the router's view, exact knows everything.",
      "Ctrl-C ends the run and prints what was measured so far (exit code 130)."
    })
final class DemoCommand implements Callable<Integer> {
  private static final int MAX_DCS = 64;
  private static final int MAX_WORKERS = 1024;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--trace",
      paramLabel = "FILE",
      description =
          "Requests in the Mooncake JSONL form (default: a built-in workload of conversations).")
  private @Nullable Path trace;

  @Option(
      names = "--blocks-per-id",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Blocks that each 512-token id stands for: a power of two up to 512; 32 gives blocks of"
              + " 16 tokens (default: ${DEFAULT-VALUE}).")
  private int blocksPerId;

  @Option(
      names = "--requests",
      paramLabel = "N",
      description = "Requests to run (default: the whole trace, or 5000 of the built-in workload).")
  private @Nullable Integer requests;

  @Option(
      names = "--policy",
      paramLabel = "NAME",
      defaultValue = "all",
      description =
          "kv, round-robin, random, exact, or all of them in turn (default: ${DEFAULT-VALUE}).")
  private String policy = "all";

  @Option(
      names = "--dcs",
      paramLabel = "N",
      defaultValue = "4",
      description = "Data centers, 1 to " + MAX_DCS + " (default: ${DEFAULT-VALUE}).")
  private int dcs;

  @Option(
      names = "--workers",
      paramLabel = "N",
      defaultValue = "4",
      description = "Workers per data center (default: ${DEFAULT-VALUE}).")
  private int workers;

  @Option(
      names = "--cache-blocks",
      paramLabel = "N",
      description =
          "Blocks that each worker can keep (default: all workers together keep a third of the"
              + " input's distinct blocks).")
  private @Nullable Integer cacheBlocks;

  @Option(
      names = "--restarts",
      paramLabel = "N",
      description =
          "Workers that restart in the course of the input, with an empty cache and without a word"
              + " (default: one in each data center).")
  private @Nullable Integer restarts;

  @Option(
      names = "--loss",
      paramLabel = "PERCENT",
      defaultValue = "1",
      description =
          "Of a hundred batches of events, how many are lost on their way to the relay (default:"
              + " ${DEFAULT-VALUE}).")
  private double loss;

  @Option(
      names = "--transport",
      paramLabel = "NAME",
      defaultValue = "inproc",
      description =
          "How publications reach the router: inproc, grpc (free ports of this host), or an"
              + " address like grpc://127.0.0.1:7400 for the first data center, the others taking"
              + " the ports that follow (default: ${DEFAULT-VALUE}).")
  private String transport = "inproc";

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of everything random (default: ${DEFAULT-VALUE}).")
  private long seed;

  @Option(names = "--json", description = "Print one JSON object and nothing else.")
  private boolean json;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Override
  public Integer call() {
    checkRange("--dcs", dcs, 1, MAX_DCS);
    checkRange("--workers", workers, 1, MAX_WORKERS);
    checkBlocksPerId();
    if (requests != null) {
      checkRange("--requests", requests, 1, Integer.MAX_VALUE);
    }
    if (cacheBlocks != null) {
      checkRange("--cache-blocks", cacheBlocks, 1, Integer.MAX_VALUE);
    }
    int restarting = restarts == null ? dcs : restarts;
    checkRange("--restarts", restarting, 0, 100_000);
    if (!(loss >= 0 && loss <= 100)) {
      throw new InputException("--loss = " + loss + ": must lie in 0..100");
    }
    List<PolicyName> policies = policies();
    URI address = Addresses.check(transport, dcs);
    Map<String, Object> serverTls = tls.server(address);
    Map<String, Object> clientTls = tls.client(address);
    try (Interrupt interrupt = new Interrupt()) {
      Workload workload = Workload.load(trace, requests, blocksPerId, seed);
      DemoSettings settings =
          DemoSettings.of(workload, dcs, workers, cacheBlocks, seed, transport)
              .with(serverTls, clientTls)
              .withFaults(restarting, loss);
      PrintWriter terminal = Terminal.isAttached() ? spec.commandLine().getErr() : null;
      DemoReport report =
          new Demo(workload, settings, terminal, interrupt::isRequested).run(policies);
      spec.commandLine().getOut().println(json ? report.toJson() : report.toText());
      spec.commandLine().getOut().flush();
    }
    return 0;
  }

  private void checkBlocksPerId() {
    if (blocksPerId < 1 || blocksPerId > 512 || Integer.bitCount(blocksPerId) != 1) {
      throw new InputException(
          "--blocks-per-id = " + blocksPerId + ": must be a power of two in 1..512");
    }
  }

  private static void checkRange(String option, int value, int min, int max) {
    if (value < min || value > max) {
      throw new InputException(option + " = " + value + ": must lie in " + min + ".." + max);
    }
  }

  private List<PolicyName> policies() {
    List<PolicyName> policies = PolicyName.parse(policy);
    if (policies == null) {
      throw new InputException(
          "--policy = " + policy + ": must be kv, round-robin, random, exact or all");
    }
    return policies;
  }
}
