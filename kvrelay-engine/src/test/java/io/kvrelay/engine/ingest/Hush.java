package io.kvrelay.engine.ingest;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Keeps the engine's expected warnings out of the tests' output while it is open. */
final class Hush implements AutoCloseable {
  private final Logger logger = Logger.getLogger("io.kvrelay.engine");

  Hush() {
    logger.setLevel(Level.OFF);
  }

  @Override
  public void close() {
    logger.setLevel(null);
  }
}
