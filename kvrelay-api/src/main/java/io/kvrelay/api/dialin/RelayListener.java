package io.kvrelay.api.dialin;

import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.RelayPublicationSource;
import java.util.concurrent.CompletionStage;

/** The router's side: accepts relays that dial in. */
public interface RelayListener {
  /**
   * Waits for the next pool. A source is handed out only after its caller was authenticated and
   * admitted.
   *
   * @param cancel ends the wait once it completes
   * @return a stage with the pool's source
   */
  CompletionStage<InboundPoolSource> accept(CompletionStage<Void> cancel);

  /**
   * A pool that dialled in.
   *
   * @param pool what it is
   * @param source what it publishes
   * @param connection how it came
   */
  record InboundPoolSource(
      PoolDescriptor pool, RelayPublicationSource source, RelayConnection connection) {}
}
