package io.kvrelay.cli.demo;

import java.util.List;
import java.util.SplittableRandom;

/** How a router picks the data center of a request. One thread. */
interface DcPolicy {
  /**
   * Picks one.
   *
   * @param nowMillis the request's time
   * @param prompt the request
   * @return index of the data center
   */
  int choose(long nowMillis, Prompt prompt);

  /** One data center after the other. */
  static DcPolicy roundRobin(int dcs) {
    int[] next = {0};
    return (nowMillis, prompt) -> Math.floorMod(next[0]++, dcs);
  }

  /** Any of them, evenly. */
  static DcPolicy random(int dcs, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return (nowMillis, prompt) -> random.nextInt(dcs);
  }

  /** The longest prefix, as the oracle knows it, where the load allows. */
  static DcPolicy longestPrefix(DepthOracle oracle, List<DataCenter> dcs) {
    int[] depths = new int[dcs.size()];
    long[] loads = new long[dcs.size()];
    return (nowMillis, prompt) -> {
      oracle.depths(prompt, depths);
      for (int i = 0; i < loads.length; i++) {
        loads[i] = dcs.get(i).load(nowMillis);
      }
      return LoadBoundedChoice.choose(depths, loads);
    };
  }

  /** Knowledge of the exact truth. */
  static DepthOracle exactKnowledge(List<DataCenter> dcs) {
    return (prompt, depths) -> {
      for (int i = 0; i < depths.length; i++) {
        depths[i] = dcs.get(i).exactDepth(prompt);
      }
    };
  }
}
