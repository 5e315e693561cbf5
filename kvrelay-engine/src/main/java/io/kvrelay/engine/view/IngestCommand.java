package io.kvrelay.engine.view;

import org.jspecify.annotations.Nullable;

/** What waits in a worker's queue: a delta or a control command, stamped at its admission. */
abstract class IngestCommand {
  /** The lane it was admitted to; null before. */
  @Nullable LaneAdmission lane;

  /** The lane's admission epoch at that moment: work of an older one is dropped. */
  long epoch;

  /** Whose lease it came under: hears what becomes of it, and nobody that came later does. */
  LaneListener listener = LaneListener.NONE;

  /** Number among the lane's deltas; unused by control commands. */
  long deltaId;
}
