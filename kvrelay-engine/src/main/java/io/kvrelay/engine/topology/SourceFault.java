package io.kvrelay.engine.topology;

import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import java.util.OptionalLong;

/**
 * A fault of one rank's source that its pool reported.
 *
 * @param member the rank
 * @param publisherId the publisher whose event it was (unsigned)
 * @param action what must happen
 * @param eventId the event, if it was one
 * @param kind what was wrong with it
 */
public record SourceFault(
    Member member, long publisherId, Action action, OptionalLong eventId, KvEventErrorKind kind) {
  /** What must happen to the rank, the stronger one last. */
  public enum Action {
    /** Recover it. */
    RECOVER,
    /** Reset it, and bar its source until another one takes its place. */
    REJECT
  }
}
