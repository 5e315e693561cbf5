package io.kvrelay.api.events;

import io.kvrelay.api.KvEvent;
import java.util.List;

/** What a source answers when it is asked for its past. The source alone chooses the kind. */
public sealed interface HistoryReply {
  /** What a dump replaces. */
  enum ResetScope {
    /** Everything of the rank. What an answer without a scope means. */
    ALL,
    /** One residency domain, or something unknown: not the whole truth. */
    PARTIAL
  }

  /**
   * Events that were sent before, with their own ids, to be applied to what is there.
   *
   * @param events in order
   * @param last the newest event of the history they were read from (unsigned)
   */
  record Events(List<KvEvent> events, long last) implements HistoryReply {
    /**
     * Copies the list.
     *
     * @param events in order
     * @param last the newest event of the history they were read from
     */
    public Events {
      events = List.copyOf(events);
    }
  }

  /**
   * The complete state of the rank, as events to be replayed in list order; their ids mean nothing.
   *
   * @param events parents before children
   * @param last the newest event that the state surely contains (unsigned); it may contain more
   * @param scope what it replaces
   */
  record TreeDump(List<KvEvent> events, long last, ResetScope scope) implements HistoryReply {
    /**
     * Copies the list.
     *
     * @param events parents before children
     * @param last the newest event that the state surely contains
     * @param scope what it replaces
     */
    public TreeDump {
      events = List.copyOf(events);
    }
  }

  /**
   * The source could not make a dump.
   *
   * @param last its newest event (unsigned)
   * @param message for people
   */
  record TreeDumpFailed(long last, String message) implements HistoryReply {}

  /**
   * The first event wanted does not exist yet.
   *
   * @param start as it was asked for (unsigned)
   * @param end as it was asked for, or {@code newest} (unsigned)
   * @param newest the newest event (unsigned)
   */
  record TooNew(long start, long end, long newest) implements HistoryReply {}

  /**
   * The end lies before the start.
   *
   * @param start as it was asked for (unsigned)
   * @param end as it was asked for (unsigned)
   */
  record InvalidRange(long start, long end) implements HistoryReply {}

  /**
   * The source refused, or its answer was of no kind that the provider knows.
   *
   * @param message for people
   */
  record Failed(String message) implements HistoryReply {}
}
