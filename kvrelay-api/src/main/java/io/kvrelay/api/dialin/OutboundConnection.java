package io.kvrelay.api.dialin;

import java.util.concurrent.CompletionStage;

/** A connection that a relay has opened. Thread safe. */
public interface OutboundConnection {
  /**
   * Whom it leads to.
   *
   * @return the replica
   */
  RouterReplica replica();

  /**
   * Completes once the connection is closed for good.
   *
   * @return a stage that never fails
   */
  CompletionStage<Void> closed();
}
