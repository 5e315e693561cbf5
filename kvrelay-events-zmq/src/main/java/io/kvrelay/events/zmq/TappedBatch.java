package io.kvrelay.events.zmq;

import io.kvrelay.api.Member;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * One batch as its engine wrote it, for people who look at a stream. Whether an event was taken up
 * afterwards, the source's counters tell.
 *
 * @param member the source
 * @param sequence the publisher's number (unsigned)
 * @param replayed whether a replay brought it
 * @param timestamp the engine's clock, Unix seconds
 * @param rank the rank that the batch names, if it names one
 * @param events the events
 */
public record TappedBatch(
    Member member,
    long sequence,
    boolean replayed,
    double timestamp,
    OptionalInt rank,
    List<Event> events) {
  /**
   * Copies the list.
   *
   * @param member the source
   * @param sequence the publisher's number
   * @param replayed whether a replay brought it
   * @param timestamp the engine's clock
   * @param rank the rank that the batch names
   * @param events the events
   */
  public TappedBatch {
    events = List.copyOf(events);
  }

  /**
   * One event.
   *
   * @param kind {@code stored}, {@code removed}, {@code cleared}, {@code tier_cleared}, {@code
   *     created}, {@code updated} or {@code unknown}
   * @param refusal why it cannot be read, or null
   * @param medium the medium as the engine names it, {@code untagged} or {@code unknown}
   * @param blocks how many block hashes it has
   * @param tokens how many tokens it has, pairs counted once
   * @param blockSize tokens of a block; 0 unless blocks were stored
   * @param hasParent whether the first block follows another
   * @param parent that block's engine hash
   * @param firstBlock engine hash of the first block; 0 without blocks
   * @param lastBlock engine hash of the last block; 0 without blocks
   * @param adapter name of the adapter, or null
   * @param group number of the cache group, or -1
   */
  public record Event(
      String kind,
      @Nullable String refusal,
      String medium,
      int blocks,
      int tokens,
      long blockSize,
      boolean hasParent,
      long parent,
      long firstBlock,
      long lastBlock,
      @Nullable String adapter,
      long group) {}
}
