package io.kvrelay.engine.load;

import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The declared ranks of a pool and what each can hold.
 *
 * @param ranks capacity by rank
 */
public record LoadCapacity(Map<Member, Rank> ranks) {
  /** No rank. */
  public static final LoadCapacity NONE = new LoadCapacity(Map.of());

  /**
   * What one rank can hold.
   *
   * @param totalKvBlocks KV blocks (unsigned, not zero), or empty if unknown
   * @param maxNumBatchedTokens tokens batched at most (unsigned), or empty if unknown
   */
  public record Rank(OptionalLong totalKvBlocks, OptionalLong maxNumBatchedTokens) {}

  /**
   * Copies the map.
   *
   * @param ranks capacity by rank
   */
  public LoadCapacity {
    ranks = Map.copyOf(ranks);
  }

  /**
   * Reads the runtime configurations of an endpoint's workers. Each rank has its worker's full
   * values; a declared total of zero is unknown, not zero.
   *
   * @param workers configuration by worker id
   * @return the capacity
   * @throws IllegalArgumentException if a worker has no rank, more than {@value
   *     RuntimeConfig#MAX_RANKS}, or rank numbers beyond 32 bits
   */
  public static LoadCapacity of(Map<Long, RuntimeConfig> workers) {
    Map<Member, Rank> ranks = new LinkedHashMap<>();
    workers.forEach(
        (workerId, runtime) -> {
          check(workerId, runtime);
          Rank rank = new Rank(known(runtime.totalKvBlocks()), runtime.maxNumBatchedTokens());
          for (int i = 0; i < runtime.dataParallelSize(); i++) {
            ranks.put(new Member(workerId, runtime.dataParallelStartRank() + i), rank);
          }
        });
    return new LoadCapacity(ranks);
  }

  private static OptionalLong known(OptionalLong total) {
    return total.isPresent() && total.getAsLong() == 0 ? OptionalLong.empty() : total;
  }

  private static void check(long workerId, RuntimeConfig runtime) {
    if (!runtime.hasValidRanks()) {
      throw new IllegalArgumentException(
          "worker "
              + Long.toUnsignedString(workerId)
              + ": dataParallelSize = "
              + Integer.toUnsignedString(runtime.dataParallelSize())
              + " from dataParallelStartRank = "
              + Integer.toUnsignedString(runtime.dataParallelStartRank())
              + ": must be 1.."
              + RuntimeConfig.MAX_RANKS
              + " ranks within 32 bits");
    }
  }
}
