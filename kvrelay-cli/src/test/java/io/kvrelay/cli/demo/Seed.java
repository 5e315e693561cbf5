package io.kvrelay.cli.demo;

import java.util.SplittableRandom;

/** The seed of a random test: printed, and replayed with {@code -Dkvrelay.seed=}. */
final class Seed {
  private Seed() {}

  static SplittableRandom random() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    System.out.println("replay with -Dkvrelay.seed=" + seed);
    return new SplittableRandom(seed);
  }
}
