package io.kvrelay.engine.pool;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import org.jspecify.annotations.Nullable;

/**
 * Numbers a pool's publications and hands them to the lease that is current.
 *
 * <p>The sequence counts batches that were handed over, not events. Without a lease it stands still
 * and batches are dropped: the next lease starts from a full snapshot. Used by the pool's owner,
 * one thread at a time.
 */
final class PoolPublisher {
  /** Why nothing more is handed over until a new lease has its snapshot. */
  enum Fence {
    /** No number is left. Only a new generation helps. */
    SEQUENCE_EXHAUSTED,
    /** A hand-off failed, so what the receiver has is not known. */
    DELIVERY_UNCERTAIN,
    /** The lease was retired because its consumer did not progress. */
    LEASE_STALLED
  }

  /** What became of a batch. */
  enum Result {
    /** Handed over under the next number. */
    PUBLISHED,
    /** Dropped; there is no lease. */
    NO_SUBSCRIBER,
    /** Refused: the publisher was fenced before. */
    REFUSED,
    /** Not handed over: this attempt fenced the publisher. */
    FENCED
  }

  private final ProducerIdentity identity;
  private long lastSequence;
  private @Nullable LaneLease lease;
  private @Nullable DeltaChannel channel;
  private @Nullable Fence fence;
  private boolean behind;

  PoolPublisher(ProducerIdentity identity, long lastSequence) {
    this.identity = identity;
    this.lastSequence = lastSequence;
  }

  Result publish(BucketImages images) {
    if (fence != null) {
      behind |= fence != Fence.LEASE_STALLED; // whose consumer knows that it has nothing
      return Result.REFUSED;
    }
    if (lease == null || channel == null) {
      return Result.NO_SUBSCRIBER;
    }
    if (isExhausted()) {
      return fence(Fence.SEQUENCE_EXHAUSTED);
    }
    PoolDelta delta =
        new PoolDelta(
            identity, lease, lastSequence, lastSequence + 1, images.buckets(), images.words());
    if (!channel.offer(delta)) {
      return fence(Fence.DELIVERY_UNCERTAIN);
    }
    lastSequence++;
    return Result.PUBLISHED;
  }

  private Result fence(Fence reason) {
    fence = reason;
    behind = true;
    return Result.FENCED;
  }

  /**
   * Whether a batch was lost that a lease should have had: no sequence covers it before the next
   * lease's snapshot.
   */
  boolean isBehind() {
    return behind;
  }

  /** Whether no number is left. */
  boolean isExhausted() {
    return lastSequence == -1;
  }

  /**
   * Makes a lease current, clears the fence, and returns the channel of what follows the current
   * sequence.
   */
  DeltaChannel install(LaneLease next) {
    endChannel();
    DeltaChannel fresh = new DeltaChannel();
    lease = next;
    channel = fresh;
    fence = null;
    behind = false;
    return fresh;
  }

  /** Retires a lease if it is current. */
  void retire(LaneLease retired) {
    if (retired.equals(lease)) {
      retireCurrent();
    }
  }

  /** Retires whatever lease is current. */
  void retireCurrent() {
    lease = null;
    endChannel();
  }

  /** Retires a lease, if it is current, whose consumer makes no progress. */
  void retireStalled(LaneLease stalled) {
    if (stalled.equals(lease)) {
      retireCurrent();
      fence = Fence.LEASE_STALLED;
    }
  }

  private void endChannel() {
    if (channel != null) {
      channel.end();
      channel = null;
    }
  }

  long lastSequence() {
    return lastSequence;
  }

  @Nullable LaneLease lease() {
    return lease;
  }

  @Nullable Fence fence() {
    return fence;
  }

  ProducerIdentity identity() {
    return identity;
  }
}
