package io.kvrelay.api;

import java.util.List;

/**
 * Events of one publisher, in stream order. All of them belong to the member that the publisher
 * advertises.
 *
 * @param publisherId random per publisher incarnation; not ordered
 * @param events the events
 */
public record KvEventBatch(long publisherId, List<KvEvent> events) {
  /**
   * Copies the list.
   *
   * @param publisherId random per publisher incarnation; not ordered
   * @param events the events
   */
  public KvEventBatch {
    events = List.copyOf(events);
  }
}
