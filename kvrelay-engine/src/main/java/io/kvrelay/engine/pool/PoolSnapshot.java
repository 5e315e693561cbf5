package io.kvrelay.engine.pool;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;

/**
 * A barrier snapshot: a full image at one sequence, and the deltas that continue it.
 *
 * @param identity the generation
 * @param lease the lease it belongs to
 * @param sequence the sequence of the image
 * @param words all bucket words; owned by the receiver from now on
 * @param deltas what follows
 */
@SuppressWarnings("ArrayRecordComponent") // a hand-over, never compared
public record PoolSnapshot(
    ProducerIdentity identity,
    LaneLease lease,
    long sequence,
    long[] words,
    DeltaReceiver deltas) {}
