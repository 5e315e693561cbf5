package io.kvrelay.cli.demo;

import io.kvrelay.api.KvEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * One world of data centers, and one pass of an input through it: route each request, execute it,
 * score it. Every policy gets a world of its own that starts equal. One thread.
 */
final class Simulation {
  private final Workload workload;
  private final DemoSettings settings;
  private final List<DataCenter> dcs = new ArrayList<>();
  private final Prompt prompt;
  private final Samples routeNanos = new Samples();
  private final List<Long> dcRequests;
  private long requests;
  private long blocks;
  private long hitBlocks;

  Simulation(Workload workload, DemoSettings settings) {
    this.workload = workload;
    this.settings = settings;
    this.prompt = new Prompt(workload.longestRequest());
    this.dcRequests = new ArrayList<>(Collections.nCopies(settings.dcs(), 0L));
    SplittableRandom random = new SplittableRandom(settings.seed());
    // More than every block there is would only cost memory.
    int capacity = (int) Math.max(1, Math.min(settings.cacheBlocks(), workload.distinctBlocks()));
    for (int i = 0; i < settings.dcs(); i++) {
      dcs.add(new DataCenter(settings.workers(), capacity, random.split()));
    }
  }

  List<DataCenter> dataCenters() {
    return dcs;
  }

  /** Wall-clock nanoseconds of each routing decision. */
  Samples routeNanos() {
    return routeNanos;
  }

  /** What surrounds the world: time passes, events leave. */
  interface Surroundings {
    /** Time has come this far. */
    void advanceTo(long millis);

    /** Receives the events of one data center, in order. */
    Consumer<KvEvent> events(int dc);

    /** A worker has restarted: another life of its publisher, and nothing in its cache. */
    default void restarted(int dc, int worker) {}

    /** Nobody listens. */
    Surroundings NONE =
        new Surroundings() {
          @Override
          public void advanceTo(long millis) {}

          @Override
          public Consumer<KvEvent> events(int dc) {
            return event -> {};
          }
        };
  }

  /**
   * Runs the input, or as much of it as there is time for.
   *
   * @param policy picks the data centers
   * @param surroundings listens
   * @param progress is told the number of requests done
   * @param stop whether to end early, asked before each request
   */
  void run(DcPolicy policy, Surroundings surroundings, IntConsumer progress, BooleanSupplier stop) {
    List<Consumer<KvEvent>> events = new ArrayList<>();
    for (int i = 0; i < settings.dcs(); i++) {
      events.add(surroundings.events(i));
    }
    List<Request> all = workload.requests();
    for (int i = 0; i < all.size() && !stop.getAsBoolean(); i++) {
      Request request = all.get(i);
      surroundings.advanceTo(request.timestampMillis());
      clearCaches(i, events);
      restartWorkers(i, surroundings);
      step(request, policy, events);
      progress.accept(i + 1);
    }
  }

  private void step(Request request, DcPolicy policy, List<Consumer<KvEvent>> events) {
    prompt.fill(workload, request);
    long now = request.timestampMillis();
    long start = System.nanoTime();
    int dc = policy.choose(now, prompt);
    routeNanos.add(System.nanoTime() - start);
    hitBlocks += dcs.get(dc).execute(now, prompt, events.get(dc));
    blocks += prompt.length();
    requests++;
    dcRequests.set(dc, dcRequests.get(dc) + 1);
  }

  /**
   * One worker of each data center is emptied once, at moments spread over the input: engines do
   * that when their weights are replaced.
   */
  private void clearCaches(int index, List<Consumer<KvEvent>> events) {
    long total = workload.requests().size();
    for (int dc = 0; dc < settings.dcs(); dc++) {
      if (index > 0 && index == total * (dc + 1) / (settings.dcs() + 1)) {
        dcs.get(dc).clear(dc % settings.workers(), events.get(dc));
      }
    }
  }

  /** Restarts come at moments spread over the input, one data center after the other. */
  private void restartWorkers(int index, Surroundings surroundings) {
    long total = workload.requests().size();
    for (int i = 0; i < settings.restarts(); i++) {
      if (index == total * (2L * i + 1) / (2L * settings.restarts())) {
        int dc = i % settings.dcs();
        int worker = (i / settings.dcs() + 1) % settings.workers();
        dcs.get(dc).restart(worker);
        surroundings.restarted(dc, worker);
      }
    }
  }

  /** The score so far. */
  PolicyResult result(PolicyName policy) {
    return new PolicyResult(
        policy.label(), requests, blocks, hitBlocks, List.copyOf(dcRequests), null);
  }

  /**
   * Compares an oracle with the exact truth on every prefix that was routed.
   *
   * @param oracle whom to check
   * @return checks made, depths too long, depths too short
   */
  long[] check(DepthOracle oracle) {
    int[] claimed = new int[settings.dcs()];
    long checks = 0;
    long inflated = 0;
    long missed = 0;
    for (Request request : workload.requests().subList(0, (int) requests)) {
      prompt.fill(workload, request);
      oracle.depths(prompt, claimed);
      for (int dc = 0; dc < claimed.length; dc++) {
        int exact = dcs.get(dc).exactDepth(prompt);
        checks++;
        inflated += claimed[dc] > exact ? 1 : 0;
        missed += claimed[dc] < exact ? 1 : 0;
      }
    }
    return new long[] {checks, inflated, missed};
  }
}
