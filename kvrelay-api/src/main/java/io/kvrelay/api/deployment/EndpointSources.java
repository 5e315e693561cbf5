package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The event sources of one serving endpoint's expected ranks. Complete: a rank that is absent is
 * not expected.
 *
 * @param servingEndpoint the serving endpoint
 * @param kvStateEndpoint where its sources are advertised, or null if its cards disagree
 * @param ranks the expected ranks, in member order
 */
public record EndpointSources(
    EndpointId servingEndpoint,
    @Nullable EndpointId kvStateEndpoint,
    SortedMap<Member, RankSource> ranks) {
  /**
   * Copies the map.
   *
   * @param servingEndpoint the serving endpoint
   * @param kvStateEndpoint where its sources are advertised, or null if its cards disagree
   * @param ranks the expected ranks, in member order
   */
  public EndpointSources {
    ranks = Collections.unmodifiableSortedMap(new TreeMap<>(ranks));
  }

  /**
   * Whether some rank may be read.
   *
   * @return true if so
   */
  public boolean hasActiveSource() {
    return ranks.values().stream().anyMatch(rank -> rank.status().isSelectable());
  }
}
