package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;

/**
 * An event that the pool could not apply, and whose recovery it is. Successful parts of the event,
 * and the publication that it closed, came before.
 *
 * @param publisherId the publisher of the event
 * @param member the event's member
 * @param eventId the event
 * @param kind what went wrong
 * @param action what to recover
 */
public record PoolFault(
    long publisherId, Member member, long eventId, KvEventErrorKind kind, Action action) {
  /** The domain whose state is uncertain. */
  public enum Action {
    /** Recover the rank: a full recovery if its source can, else reset it and go on live. */
    RECOVER_RANK,
    /** Reset the rank and leave its source out until another one takes its place. */
    REJECT_SOURCE,
    /** The pool's generation is fenced; build a new one. */
    FENCE_PRODUCER
  }
}
