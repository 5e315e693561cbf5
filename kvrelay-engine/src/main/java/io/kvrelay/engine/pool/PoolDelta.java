package io.kvrelay.engine.pool;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;

/**
 * Absolute images of the buckets that changed between two sequences, in first-touch order, none
 * twice.
 *
 * @param identity the generation
 * @param lease the lease it is meant for
 * @param baseSequence the sequence before
 * @param sequence the sequence after, {@code baseSequence + 1}
 * @param buckets bucket numbers
 * @param words the buckets' whole words, at the same indexes; zero is a normal image
 */
@SuppressWarnings("ArrayRecordComponent") // a hand-over, never compared
public record PoolDelta(
    ProducerIdentity identity,
    LaneLease lease,
    long baseSequence,
    long sequence,
    int[] buckets,
    long[] words) {}
