package io.kvrelay.engine.view;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;

/** A lane operation that was refused; nothing was changed unless its error says otherwise. */
final class LaneException extends RelayException {
  private static final long serialVersionUID = 1L;

  private final LaneError error;

  LaneException(LaneError error, String message) {
    super(reasonOf(error), message);
    this.error = error;
  }

  LaneError error() {
    return error;
  }

  private static RelayErrorReason reasonOf(LaneError error) {
    return switch (error) {
      case CONTROL_TIMEOUT, WORKER_FAILED, ALLOCATION_FAILED, LANES_EXHAUSTED ->
          RelayErrorReason.RESOURCE_LIMIT;
      case LANE_UNASSIGNED, LANE_RETIRED -> RelayErrorReason.NOT_READY;
      case WRONG_LANE_OWNER, WRONG_FORMAT, MIXED_INDEXER_DOMAIN ->
          RelayErrorReason.PRODUCER_CHANGED;
      case ADMISSION_EPOCH_EXHAUSTED -> RelayErrorReason.CLOSED;
      default -> RelayErrorReason.INVALID_CONFIGURATION;
    };
  }
}
