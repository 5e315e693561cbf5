package io.kvrelay.engine.ingest;

import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.SourceTrust;
import java.util.OptionalLong;

/**
 * Where one rank stands.
 *
 * @param member the rank
 * @param source whether it has a source that may be read; missing for one that is no longer
 *     expected and could not be reset yet
 * @param publisherId the active source's publisher (unsigned), or empty
 * @param cursor the last event admitted (unsigned), or empty before the first
 * @param recovering whether a recovery is under way
 * @param buffered live events that wait for the end of a recovery
 * @param queued batches that wait for their turn
 * @param resetPending whether nothing is accepted until a reset has succeeded
 * @param rejected whether the source is barred until another one takes its place
 * @param trust what the pool's picture of the rank is worth
 * @param reason why it is not exact; the empty string if it is
 * @param lastEventMillis when the latest batch was taken up, in milliseconds since the epoch, or
 *     empty before the first
 * @param clears clears admitted since the rank is expected
 */
public record RankStatus(
    Member member,
    SourceStatus source,
    OptionalLong publisherId,
    OptionalLong cursor,
    boolean recovering,
    int buffered,
    int queued,
    boolean resetPending,
    boolean rejected,
    SourceTrust trust,
    String reason,
    OptionalLong lastEventMillis,
    long clears) {}
