package io.kvrelay.cli.demo;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one policy made of an input.
 *
 * @param name the policy
 * @param requests requests routed
 * @param blocks blocks they asked for
 * @param hitBlocks blocks served from the chosen worker's cache
 * @param dcRequests requests per data center
 * @param kv what only {@code kv} has, else null
 */
public record PolicyResult(
    String name,
    long requests,
    long blocks,
    long hitBlocks,
    List<Long> dcRequests,
    @Nullable KvResult kv) {
  /** The same with what only {@code kv} has. */
  PolicyResult with(KvResult result) {
    return new PolicyResult(name, requests, blocks, hitBlocks, dcRequests, result);
  }

  /** Blocks served over blocks asked for; 0 if none was asked for. */
  public double hitRatio() {
    return blocks == 0 ? 0 : (double) hitBlocks / blocks;
  }
}
