package io.kvrelay.engine.view;

/** Where tests look into a worker, hold it or make it fail. Does nothing otherwise. */
interface IngestProbe {
  /** Does nothing. */
  IngestProbe NONE = new IngestProbe() {};

  /** A command is about to be carried out. */
  default void beforeCommand(IngestCommand command) {}

  /** A delta reached its lane; nobody was told yet. */
  default void afterDelta(int lane) {}

  /** A snapshot's words are stored, the lane is not yet ready. */
  default void beforeActivation(int lane) {}

  /** The lane took a new lease; nobody was told yet. */
  default void afterAssignment(int lane) {}
}
