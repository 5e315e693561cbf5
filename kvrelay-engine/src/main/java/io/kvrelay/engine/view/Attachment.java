package io.kvrelay.engine.view;

import java.util.concurrent.CompletionStage;

/** One source that a view follows. Thread safe; nothing blocks. */
public interface Attachment extends AutoCloseable {
  /**
   * What is attached, for people: an address, or a relay's identity.
   *
   * @return the label
   */
  String label();

  /**
   * Where the attachment and its planes stand now.
   *
   * @return a snapshot
   */
  SourceState state();

  /**
   * Completes once the source has been let go of: its streams are cancelled and its pools released.
   * Happens after {@link #close()}, when the view closes, and when a source that was attached as an
   * object has shut down.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> detached();

  /** Detaches: its pools leave the answers, their lanes are freed. Idempotent; does not wait. */
  @Override
  void close();
}
