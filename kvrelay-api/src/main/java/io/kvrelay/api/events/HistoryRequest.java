package io.kvrelay.api.events;

import io.kvrelay.api.Member;
import java.util.OptionalLong;

/**
 * What is asked of a source's past. The relay understands an explicit dump failure, and asks for
 * recovery; a provider whose protocol has fields for the two says so.
 *
 * @param member the rank
 * @param start the first event wanted (inclusive, unsigned), or empty for everything it holds
 * @param end the last event wanted (inclusive, unsigned), or empty for the newest; does not shorten
 *     an answer
 */
public record HistoryRequest(Member member, OptionalLong start, OptionalLong end) {
  /**
   * Asks for the complete state of a rank.
   *
   * @param member the rank
   * @return the request
   */
  public static HistoryRequest full(Member member) {
    return new HistoryRequest(member, OptionalLong.empty(), OptionalLong.empty());
  }

  /**
   * Asks for everything from an event on.
   *
   * @param member the rank
   * @param start the first event wanted
   * @return the request
   */
  public static HistoryRequest from(Member member, long start) {
    return new HistoryRequest(member, OptionalLong.of(start), OptionalLong.empty());
  }
}
