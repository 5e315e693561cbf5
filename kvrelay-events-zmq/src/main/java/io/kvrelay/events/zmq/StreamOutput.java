package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.events.SourceTrust;
import java.util.List;

/** What a source's stream asks of the world around it. Called on the thread that drives it. */
interface StreamOutput {
  /**
   * Takes relay events.
   *
   * @param events in order, never none
   */
  void events(List<KvEvent> events);

  /**
   * Takes what the source's picture is worth, whenever that changed.
   *
   * @param trust the level
   * @param reason for people; empty if it is exact
   */
  void trust(SourceTrust trust, String reason);

  /**
   * Asks the engine to replay, as soon as that may be; any older request is void. Its outcome comes
   * as calls of {@link EngineStream#onReplay} and {@link EngineStream#onReplayFailed} with the same
   * number.
   *
   * @param request number of the request
   * @param from the first sequence wanted
   */
  void requestReplay(long request, long from);

  /** The newest request is not wanted any more. */
  void cancelReplay();
}
