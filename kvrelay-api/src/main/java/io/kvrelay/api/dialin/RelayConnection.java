package io.kvrelay.api.dialin;

import java.util.concurrent.CompletionStage;

/** A connection that a router has accepted. Thread safe. */
public interface RelayConnection {
  /**
   * Who called, as the transport has verified it.
   *
   * @return the identity's text
   */
  String caller();

  /**
   * Completes once the connection is closed.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> closed();
}
