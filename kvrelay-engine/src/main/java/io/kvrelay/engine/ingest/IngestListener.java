package io.kvrelay.engine.ingest;

/** What an ingest asks of whoever runs it. Called on the runtime's executor; must not block. */
@FunctionalInterface
public interface IngestListener {
  /**
   * The pool's state is in doubt as a whole; the generation must be fenced.
   *
   * @param reason for people
   */
  void fencePool(String reason);
}
