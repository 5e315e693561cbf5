package io.kvrelay.simulation;

import io.kvrelay.api.EndpointId;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedWorker;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** One endpoint of one site as the simulation means it: its workers and what they are asked. */
final class PoolModel {
  static final String[] MODELS = {"llama", "mistral", "qwen"};

  final String model;
  final EndpointId endpoint;
  final List<SimulatedWorker> workers = new ArrayList<>();
  final List<long[]> prompts = new ArrayList<>();
  private long unique;

  PoolModel(int model, long seed) {
    this.model = MODELS[model];
    this.endpoint = new EndpointId("prod", MODELS[model], "generate");
    // The prompts of one model are the same everywhere; those of one group share a prefix.
    Random random = new Random(seed + model);
    for (int group = 0; group < 3; group++) {
      long[] prefix = random.longs(1 + random.nextInt(6)).toArray();
      for (int i = 0; i < 4; i++) {
        long[] tail = random.longs(1 + random.nextInt(12)).toArray();
        long[] prompt = new long[prefix.length + tail.length];
        System.arraycopy(prefix, 0, prompt, 0, prefix.length);
        System.arraycopy(tail, 0, prompt, prefix.length, tail.length);
        prompts.add(prompt);
      }
    }
  }

  long[] prompt(Random random) {
    return prompts.get(random.nextInt(prompts.size()));
  }

  /** Every rank of workers that run. */
  List<SimulatedRank> ranks() {
    return workers.stream()
        .filter(SimulatedWorker::isRunning)
        .flatMap(worker -> worker.ranks().stream())
        .toList();
  }

  List<SimulatedWorker> listed() {
    return workers.stream().filter(SimulatedWorker::isListed).toList();
  }

  /** One request somewhere, or now and then a clear. */
  void serve(Random random) {
    List<SimulatedRank> ranks = ranks();
    if (ranks.isEmpty()) {
      return;
    }
    SimulatedRank rank = ranks.get(random.nextInt(ranks.size()));
    int what = random.nextInt(60);
    if (what == 0) {
      rank.clear();
    } else if (what < 6) {
      rank.evict(1 + random.nextInt(4));
    } else {
      rank.serve(prompt(random));
    }
  }

  /** Lets every rank say something, so that what was lost before can be noticed. */
  void speak() {
    for (SimulatedRank rank : ranks()) {
      rank.serve(0x5EED_0000_0000L + ++unique);
    }
  }
}
