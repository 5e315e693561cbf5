package io.kvrelay.engine.routing;

import java.util.OptionalDouble;

/**
 * One candidate in a decision.
 *
 * @param candidate the candidate
 * @param verdict how it fared
 * @param score its score, or nothing if it was not rated
 * @param why the verdict in words, with the values that decided
 */
public record RankedPool(
    PoolCandidate candidate, Verdict verdict, OptionalDouble score, String why) {
  /** How a candidate fared. */
  public enum Verdict {
    /** It was chosen. */
    CHOSEN,
    /** It could have served the request; another one was better. */
    OUTRANKED,
    /** It is ready but has no depth: its replica is not usable. */
    NO_ANSWER,
    /** It is not known to be ready. */
    NOT_READY,
    /** The catalog that shows it is too old. */
    STALE_CATALOG,
    /** Its data center got too much lately. */
    ABOVE_LOAD_LIMIT,
    /** The scorer ruled it out. */
    RULED_OUT
  }
}
