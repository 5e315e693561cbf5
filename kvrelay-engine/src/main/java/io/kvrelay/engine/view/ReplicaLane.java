package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayException;
import java.util.concurrent.CompletionStage;

/**
 * The lane that a filter replica writes, as the replica sees it. Nothing blocks; stages complete
 * and listeners are called on any thread.
 */
interface ReplicaLane {
  /** Hears what becomes of a lease. */
  interface Listener {
    /** A delta reached the lane. */
    void applied(LaneDelta delta, IngestResult result);

    /** The lane took the lease away. */
    void lost(RelayException why);
  }

  /**
   * Takes a lease with a higher assignment epoch than any before. The lane is not readable before
   * this returns.
   */
  CompletionStage<LaneLease> assign(ProducerIdentity identity, Listener listener);

  /**
   * Installs a full image.
   *
   * @param words one word for each bucket; handed over
   */
  CompletionStage<IngestOutcome> install(
      ProducerIdentity identity, LaneLease lease, long sequence, long[] words);

  /** Hands a delta over; what becomes of it is told to the listener unless it is refused here. */
  Admission submit(LaneDelta delta);

  /** Keeps queries away at once, and ends the current lease. */
  void retire();
}
