package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How one worker runs. Values are taken as they are reported; whoever uses one checks it.
 *
 * @param dataParallelStartRank the first rank (unsigned 32 bits)
 * @param dataParallelSize number of ranks (unsigned 32 bits)
 * @param totalKvBlocks KV blocks of each rank (unsigned); empty or zero: unknown
 * @param maxNumBatchedTokens tokens each rank batches at most (unsigned); empty: unknown
 * @param kvStateEndpoint where the worker's event sources are advertised, or null for its serving
 *     endpoint
 * @param eventsSuppressed true if the worker's KV events reach the deployment another way, so that
 *     its event sources must not be read here
 * @param taints free marks; their change alone is a change of the endpoint
 * @param attributes anything else that a provider wants to count as a change of the endpoint
 */
public record RuntimeConfig(
    int dataParallelStartRank,
    int dataParallelSize,
    OptionalLong totalKvBlocks,
    OptionalLong maxNumBatchedTokens,
    @Nullable EndpointId kvStateEndpoint,
    boolean eventsSuppressed,
    Set<String> taints,
    Map<String, String> attributes) {
  /** Most ranks of one worker that anything is derived from. */
  public static final int MAX_RANKS = 4096;

  /** One rank, number 0, of unknown capacity. */
  public static final RuntimeConfig DEFAULT =
      new RuntimeConfig(
          0, 1, OptionalLong.empty(), OptionalLong.empty(), null, false, Set.of(), Map.of());

  /**
   * Copies the collections.
   *
   * @param dataParallelStartRank the first rank (unsigned 32 bits)
   * @param dataParallelSize number of ranks (unsigned 32 bits)
   * @param totalKvBlocks KV blocks of each rank (unsigned); empty or zero: unknown
   * @param maxNumBatchedTokens tokens each rank batches at most (unsigned); empty: unknown
   * @param kvStateEndpoint where the worker's event sources are advertised, or null for its serving
   *     endpoint
   * @param eventsSuppressed true if the worker's KV events reach the deployment another way
   * @param taints free marks; their change alone is a change of the endpoint
   * @param attributes anything else that a provider wants to count as a change of the endpoint
   */
  public RuntimeConfig {
    taints = Set.copyOf(taints);
    attributes = Map.copyOf(attributes);
  }

  /**
   * One worker's ranks, each of the given capacity.
   *
   * @param startRank the first rank
   * @param size number of ranks
   * @param totalKvBlocks KV blocks of each rank; zero: unknown
   * @return the configuration
   */
  public static RuntimeConfig ranks(int startRank, int size, long totalKvBlocks) {
    return new RuntimeConfig(
        startRank,
        size,
        OptionalLong.of(totalKvBlocks),
        OptionalLong.empty(),
        null,
        false,
        Set.of(),
        Map.of());
  }

  /**
   * The same with other taints.
   *
   * @param next the taints
   * @return the configuration
   */
  public RuntimeConfig withTaints(Set<String> next) {
    return new RuntimeConfig(
        dataParallelStartRank,
        dataParallelSize,
        totalKvBlocks,
        maxNumBatchedTokens,
        kvStateEndpoint,
        eventsSuppressed,
        next,
        attributes);
  }

  /**
   * The same with a limit of batched tokens.
   *
   * @param tokens tokens each rank batches at most
   * @return the configuration
   */
  public RuntimeConfig withMaxNumBatchedTokens(long tokens) {
    return new RuntimeConfig(
        dataParallelStartRank,
        dataParallelSize,
        totalKvBlocks,
        OptionalLong.of(tokens),
        kvStateEndpoint,
        eventsSuppressed,
        taints,
        attributes);
  }

  /**
   * The same with another KV-state endpoint.
   *
   * @param next the endpoint, or null for the serving endpoint
   * @return the configuration
   */
  public RuntimeConfig withKvStateEndpoint(@Nullable EndpointId next) {
    return new RuntimeConfig(
        dataParallelStartRank,
        dataParallelSize,
        totalKvBlocks,
        maxNumBatchedTokens,
        next,
        eventsSuppressed,
        taints,
        attributes);
  }

  /**
   * The same with event sources that must not, or may again, be read.
   *
   * @param suppressed true if they must not
   * @return the configuration
   */
  public RuntimeConfig withEventsSuppressed(boolean suppressed) {
    return new RuntimeConfig(
        dataParallelStartRank,
        dataParallelSize,
        totalKvBlocks,
        maxNumBatchedTokens,
        kvStateEndpoint,
        suppressed,
        taints,
        attributes);
  }

  /**
   * Whether the ranks can be enumerated: 1 to {@value #MAX_RANKS} of them, and rank numbers within
   * 32 bits.
   *
   * @return true if so
   */
  public boolean hasValidRanks() {
    long size = Integer.toUnsignedLong(dataParallelSize);
    long end = Integer.toUnsignedLong(dataParallelStartRank) + size;
    return size >= 1 && size <= MAX_RANKS && end <= 0xFFFF_FFFFL;
  }
}
