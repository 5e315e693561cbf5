package io.kvrelay.engine.routing;

import io.kvrelay.api.PoolId;
import io.kvrelay.engine.view.MatchStatus;
import io.kvrelay.engine.view.PoolMatch;
import java.util.List;
import java.util.Optional;

/**
 * Where a request should go, and why. Immutable.
 *
 * @param reason why it came out so
 * @param matchStatus what the view said as a whole
 * @param ranking every candidate: the chosen one first, then from best to worst
 * @param detail what was wrong, for people; empty if nothing
 */
public record RoutingDecision(
    RoutingReason reason, MatchStatus matchStatus, List<RankedPool> ranking, String detail) {
  /**
   * Copies the list.
   *
   * @param reason why it came out so
   * @param matchStatus what the view said as a whole
   * @param ranking every candidate: the chosen one first, then from best to worst
   * @param detail what was wrong, for people; empty if nothing
   */
  public RoutingDecision {
    ranking = List.copyOf(ranking);
  }

  /**
   * The chosen candidate.
   *
   * @return the candidate, or nothing if none was chosen
   */
  public Optional<RankedPool> chosen() {
    return ranking.isEmpty() || ranking.get(0).verdict() != RankedPool.Verdict.CHOSEN
        ? Optional.empty()
        : Optional.of(ranking.get(0));
  }

  /**
   * The chosen pool.
   *
   * @return the pool, or nothing if none was chosen
   */
  public Optional<PoolId> pool() {
    return chosen().map(ranked -> ranked.candidate().match().poolId());
  }

  /**
   * The decision in words, one line per candidate.
   *
   * @return several lines
   */
  public String explain() {
    StringBuilder text = new StringBuilder(reason.toString());
    if (!detail.isEmpty()) {
      text.append(": ").append(detail);
    }
    for (RankedPool ranked : ranking) {
      PoolMatch match = ranked.candidate().match();
      text.append('\n')
          .append(match.poolId())
          .append(": ")
          .append(ranked.verdict())
          .append(", depth ")
          .append(
              match.hasAnswer()
                  ? match.depth()
                      + " blocks, saves "
                      + ranked.candidate().reusableTokens()
                      + " tokens"
                  : "unknown")
          .append(", ")
          .append(match.readiness())
          .append(", load ")
          .append(match.load())
          .append(", score ")
          .append(ranked.score().isPresent() ? ranked.score().getAsDouble() : "none")
          .append(" - ")
          .append(ranked.why());
    }
    return text.toString();
  }
}
