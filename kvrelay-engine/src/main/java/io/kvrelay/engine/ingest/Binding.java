package io.kvrelay.engine.ingest;

import io.kvrelay.api.deployment.EventSourceAdvertisement;

/**
 * One activation of one source. What carries another binding than the active one, though it may
 * name the same publisher, belongs to an earlier life and is dropped.
 */
final class Binding {
  final RankSlot slot;
  final EventSourceAdvertisement source;
  final SourceId id;
  final boolean recoverable;

  Binding(RankSlot slot, EventSourceAdvertisement source) {
    this.slot = slot;
    this.source = source;
    this.id = SourceId.of(source);
    this.recoverable = source.recoveryTarget() != null;
  }

  long publisherId() {
    return source.publisherId();
  }
}
