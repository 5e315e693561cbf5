package io.kvrelay.engine.publication;

import io.kvrelay.api.RelayException;

/** One stream's wish for a hub. Fields are guarded by the {@link HubDirectory}. */
final class HubRequest {
  /** Receives the answer, outside the directory's lock, on any thread. */
  interface Answer {
    void hub(PublicationHub hub);

    void noHub(RelayException error);
  }

  final HubSlot slot;
  final Answer answer;

  /** A request starts a hub at most once; if it then finds none, hubs are scarce. */
  boolean attempted;

  boolean closed;

  HubRequest(HubSlot slot, Answer answer) {
    this.slot = slot;
    this.answer = answer;
  }
}
