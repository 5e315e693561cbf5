package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import java.util.List;
import java.util.Optional;

/**
 * The answer to one request: every candidate pool, with or without a depth, in pool order.
 *
 * @param status what came of it as a whole
 * @param pools the candidates
 * @param detail what was wrong, for people; empty if nothing
 */
public record PrefixMatch(MatchStatus status, List<PoolMatch> pools, String detail) {
  /**
   * Copies the list.
   *
   * @param status what came of it as a whole
   * @param pools the candidates
   * @param detail what was wrong, for people
   */
  public PrefixMatch {
    pools = List.copyOf(pools);
  }

  /**
   * One candidate.
   *
   * @param pool its id
   * @return the candidate, or nothing if the pool is none
   */
  public Optional<PoolMatch> pool(PoolId pool) {
    return pools.stream().filter(match -> match.poolId().equals(pool)).findFirst();
  }
}
