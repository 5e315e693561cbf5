package io.kvrelay.testkit.sim;

/** What can become of a request for a source's past. */
public enum HistoryFault {
  /** The connection breaks: no answer comes, and that is known at once. */
  BREAK,
  /** No answer ever comes. */
  SILENCE,
  /** The source refuses. */
  REFUSE,
  /** The answer holds only the first half of the events; its end says so. */
  CUT,
  /** A dump says that it is not the whole truth. */
  PARTIAL_DUMP,
  /** The source cannot make a dump. */
  DUMP_FAILURE,
  /** The answer begins with an event of another rank. */
  FOREIGN_RANK
}
