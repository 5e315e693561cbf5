package io.kvrelay.engine.publication;

import io.kvrelay.api.RelayException;
import io.kvrelay.engine.pool.PoolProducer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Where one generation's hub is, or is not. All fields are guarded by the {@link HubDirectory}. */
final class HubSlot {
  enum State {
    VACANT,
    INITIALIZING,
    READY,
    EVICTING,
    FAILED,
    RETIRED
  }

  final PoolProducer producer;

  /** Fences the generation; called outside the directory's lock. */
  final Consumer<RelayException> terminalFailure;

  State state = State.VACANT;
  @Nullable PublicationHub hub;
  @Nullable RelayException failure;

  /** Requests that want this hub and are not subscribed yet; while there is one, no eviction. */
  int pendingAdmissions;

  /** Whether anybody ever asked for the hub. */
  boolean requested;

  final List<HubRequest> waiters = new ArrayList<>();

  HubSlot(PoolProducer producer, Consumer<RelayException> terminalFailure) {
    this.producer = producer;
    this.terminalFailure = terminalFailure;
  }
}
