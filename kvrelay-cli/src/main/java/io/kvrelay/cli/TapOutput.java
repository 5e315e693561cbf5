package io.kvrelay.cli;

import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.events.zmq.SourceStatistics;
import io.kvrelay.events.zmq.TappedBatch;

/** How {@code kvrelay tap} shows what it sees. Called by one thread at a time. */
interface TapOutput {
  /** A batch as the engine wrote it. */
  void batch(TappedBatch batch);

  /** What the picture is worth now. */
  void trust(SourceTrust trust, String reason);

  /**
   * Rates since the last time.
   *
   * @param seconds how long that was
   * @param batches batches a second
   * @param blocks blocks a second that reached the relay's events
   * @param now the source
   */
  void rates(double seconds, double batches, double blocks, SourceStatistics now);
}
