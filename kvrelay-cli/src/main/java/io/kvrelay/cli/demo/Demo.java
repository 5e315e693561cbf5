package io.kvrelay.cli.demo;

import io.kvrelay.engine.ingest.IngestCount;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Runs policies over one input, one after the other, each in a world of its own. One thread. */
public final class Demo {
  private static final int FRESHNESS_SAMPLES = 300;
  private static final int FEW_FRESHNESS_SAMPLES = 50;

  private final Workload workload;
  private final DemoSettings settings;
  private final @Nullable PrintWriter terminal;
  private final BooleanSupplier stop;

  /**
   * Prepares a run.
   *
   * @param workload the input
   * @param settings the world
   * @param terminal where to show progress, or null to stay silent
   * @param stop whether to end early with what there is
   */
  public Demo(
      Workload workload,
      DemoSettings settings,
      @Nullable PrintWriter terminal,
      BooleanSupplier stop) {
    this.workload = workload;
    this.settings = settings;
    this.terminal = terminal;
    this.stop = stop;
  }

  /**
   * Runs.
   *
   * @param policies what to compare
   * @return the findings
   */
  public DemoReport run(List<PolicyName> policies) {
    List<PolicyResult> results = new ArrayList<>();
    for (PolicyName policy : policies) {
      if (!stop.getAsBoolean()) {
        results.add(run(policy));
      }
    }
    return new DemoReport(workload, settings, results, stop.getAsBoolean());
  }

  private PolicyResult run(PolicyName policy) {
    Simulation simulation = new Simulation(workload, settings);
    return switch (policy) {
      case KV -> runKv(simulation);
      case ROUND_ROBIN -> run(simulation, policy, DcPolicy.roundRobin(settings.dcs()));
      case RANDOM -> run(simulation, policy, DcPolicy.random(settings.dcs(), settings.seed()));
      case EXACT ->
          run(
              simulation,
              policy,
              DcPolicy.longestPrefix(
                  DcPolicy.exactKnowledge(simulation.dataCenters()), simulation.dataCenters()));
    };
  }

  private PolicyResult run(Simulation simulation, PolicyName name, DcPolicy policy) {
    pass(simulation, name, policy, Simulation.Surroundings.NONE);
    return simulation.result(name);
  }

  private PolicyResult runKv(Simulation simulation) {
    KvResult kv;
    try (Federation federation = Federation.open(workload, settings)) {
      DcPolicy policy = federation.policy(simulation.dataCenters());
      pass(simulation, PolicyName.KV, policy, federation);
      kv = check(simulation, federation);
    }
    // Only now: the probe may need an address that the relays had.
    return simulation.result(PolicyName.KV).with(kv.with(freshness()));
  }

  private static KvResult check(Simulation simulation, Federation federation) {
    federation.drain();
    boolean converged = federation.hasConverged();
    long[] depths = simulation.check(federation);
    MeteredSource.Traffic traffic = federation.traffic();
    return new KvResult(
        traffic.snapshotBytes(),
        traffic.deltaBytes(),
        traffic.deltas(),
        traffic.images(),
        federation.exactEventBytes(),
        depths[0],
        depths[1],
        depths[2],
        federation.omissions(),
        federation.lostBatches(),
        federation.restarts(),
        federation.counted(IngestCount.GAPS),
        federation.counted(IngestCount.RECOVERED_BY_EVENTS)
            + federation.counted(IngestCount.RECOVERED_BY_DUMP),
        null,
        KvResult.Latency.of(simulation.routeNanos()),
        converged);
  }

  /** After an interrupt only a glance: a few events, so that the figure is there. */
  private KvResult.@Nullable Latency freshness() {
    boolean interrupted = stop.getAsBoolean();
    int samples = interrupted ? FEW_FRESHNESS_SAMPLES : FRESHNESS_SAMPLES;
    BooleanSupplier enough = interrupted ? () -> false : stop;
    return KvResult.Latency.of(FreshnessProbe.measure(workload, settings, samples, enough));
  }

  private void pass(
      Simulation simulation,
      PolicyName name,
      DcPolicy policy,
      Simulation.Surroundings surroundings) {
    try (Progress progress = new Progress(terminal, name.label(), workload.requests().size())) {
      simulation.run(policy, surroundings, progress, stop);
    }
  }
}
