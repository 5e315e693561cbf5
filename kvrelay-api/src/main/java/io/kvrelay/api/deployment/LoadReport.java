package io.kvrelay.api.deployment;

import io.kvrelay.api.Member;
import java.util.OptionalLong;

/**
 * What one rank reports about its load. An absent value says nothing; it is not zero.
 *
 * @param member the rank
 * @param kvUsedBlocks KV blocks in use (unsigned)
 * @param activeDecodeBlocks KV blocks of sequences being decoded (unsigned)
 * @param activePrefillTokens tokens being prefilled (unsigned)
 */
public record LoadReport(
    Member member,
    OptionalLong kvUsedBlocks,
    OptionalLong activeDecodeBlocks,
    OptionalLong activePrefillTokens) {
  /**
   * A report of KV usage alone.
   *
   * @param member the rank
   * @param kvUsedBlocks KV blocks in use
   * @return the report
   */
  public static LoadReport kvUsed(Member member, long kvUsedBlocks) {
    return new LoadReport(
        member, OptionalLong.of(kvUsedBlocks), OptionalLong.empty(), OptionalLong.empty());
  }
}
