package io.kvrelay.testkit.sim;

/** What can happen to a batch of live events between its publisher and one follower. */
public enum LiveFault {
  /** The batch never arrives. */
  LOSE,
  /** The batch arrives twice. */
  DUPLICATE,
  /** The batch changes places with the publisher's next one; without a next one it waits. */
  REORDER,
  /** The batch is preceded by one under the same publisher's name with another rank's event. */
  FOREIGN_RANK,
  /** The batch is preceded by a copy under the name of a publisher that nobody knows. */
  UNKNOWN_PUBLISHER
}
