package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One KV event stream of one rank. The only authority for the link between a rank, the publisher
 * that speaks for it, and where its history is asked for.
 *
 * @param kvStateEndpoint the endpoint under which it is advertised
 * @param member the rank
 * @param publisherId one life of a publisher; random, without order (unsigned)
 * @param recoveryTarget where history and dumps are asked for, in the provider's own words, or null
 *     if the source is live only
 * @param liveAddress where live batches come from, in the provider's own words, or null if the
 *     provider knows; not a part of the descriptor
 */
public record EventSourceAdvertisement(
    EndpointId kvStateEndpoint,
    Member member,
    long publisherId,
    @Nullable String recoveryTarget,
    @Nullable String liveAddress) {
  /**
   * Whether both describe one source alike. A descriptor that changes under one publisher id cannot
   * be trusted.
   *
   * @param other another advertisement of the same publisher id
   * @return true if endpoint, rank and recovery target agree
   */
  public boolean describesTheSameAs(EventSourceAdvertisement other) {
    return kvStateEndpoint.equals(other.kvStateEndpoint)
        && member.equals(other.member)
        && Objects.equals(recoveryTarget, other.recoveryTarget);
  }
}
