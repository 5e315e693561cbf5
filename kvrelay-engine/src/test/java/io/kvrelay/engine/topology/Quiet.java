package io.kvrelay.engine.topology;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Keeps expected warnings out of the tests' output. */
final class Quiet {
  // Held: a logger that nobody refers to forgets its level.
  private static final Logger LOGGER = Logger.getLogger("io.kvrelay.engine.topology");

  private Quiet() {}

  static void topology() {
    LOGGER.setLevel(Level.OFF);
  }
}
