package io.kvrelay.engine.view;

/** What came of a query as a whole. */
public enum MatchStatus {
  /** At least one candidate pool gave a depth, which may be 0. */
  ANSWERED,
  /** There are candidate pools, but no usable replica of any of them: not the same as depth 0. */
  NO_ANSWER,
  /** Pools serve the name, but none has the wanted role. */
  NO_CANDIDATE,
  /** No current catalog shows the name. */
  UNKNOWN_MODEL,
  /** The name stands for more than one model or adapter and is left out on purpose. */
  AMBIGUOUS_MODEL
}
