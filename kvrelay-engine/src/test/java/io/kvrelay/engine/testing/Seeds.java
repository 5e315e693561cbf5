package io.kvrelay.engine.testing;

import java.util.Random;

/** Randomness of tests: prints its seed, and replays it with {@code -Dkvrelay.seed=}. */
public final class Seeds {
  private Seeds() {}

  public static Random random() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    System.out.println("replay with -Dkvrelay.seed=" + seed);
    return new Random(seed);
  }
}
