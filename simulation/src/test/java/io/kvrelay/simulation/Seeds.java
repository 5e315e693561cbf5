package io.kvrelay.simulation;

/** Seeds of simulations: printed, and replayed with {@code -Dkvrelay.seed=}. */
final class Seeds {
  private Seeds() {}

  /** The given seed, or one of the clock's. */
  static long first() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    System.out.println("replay with -Dkvrelay.seed=" + seed);
    return seed;
  }

  static boolean isGiven() {
    return System.getProperty("kvrelay.seed") != null;
  }
}
