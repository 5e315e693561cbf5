package io.kvrelay.engine.routing;

import io.kvrelay.api.DcId;
import io.kvrelay.engine.view.PoolMatch;
import java.util.OptionalDouble;

/**
 * A pool that could serve a request.
 *
 * @param match what the view knows of it
 * @param recentLoad the host's own figure for its data center, or nothing if it has none
 */
public record PoolCandidate(PoolMatch match, OptionalDouble recentLoad) {
  /**
   * Its data center.
   *
   * @return the id
   */
  public DcId dcId() {
    return match.poolId().dcId();
  }

  /**
   * Tokens of the prompt that need not be computed there.
   *
   * @return depth in tokens; 0 without an answer
   */
  public long reusableTokens() {
    return match.depthTokens().orElse(0);
  }

  /**
   * Reusable share of the prompt's whole blocks.
   *
   * @return 0 to 1; 0 without an answer or for a prompt shorter than a block
   */
  public double reusableShare() {
    return match.queryBlocks() > 0 && match.hasAnswer()
        ? (double) match.depth() / match.queryBlocks()
        : 0;
  }
}
