package io.kvrelay.simulation;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Simulated disasters are logged by those who suffer them; nobody wants to read that. */
final class Quiet {
  // A logger that nobody holds forgets its level.
  private static final Logger PRODUCT = Logger.getLogger("io.kvrelay");

  private Quiet() {}

  static void please() {
    PRODUCT.setLevel(Level.OFF);
  }
}
