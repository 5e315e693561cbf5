package io.kvrelay.engine.view;

/**
 * Hears what becomes of one lane assignment. Called without any lock held, on a thread of the
 * runtime or of whoever submits; returns quickly.
 */
interface LaneListener {
  /** Hears nothing. */
  LaneListener NONE =
      new LaneListener() {
        @Override
        public void onDelta(LaneDelta delta, IngestResult result) {}

        @Override
        public void onFault(IngestFault fault) {}
      };

  /**
   * A delta left the queue and reached the lane. Not called for a delta that was dropped because
   * the lane had been retired.
   */
  void onDelta(LaneDelta delta, IngestResult result);

  /**
   * The lane was deactivated: it was retired unless the disposition says that it keeps its lease.
   */
  void onFault(IngestFault fault);
}
