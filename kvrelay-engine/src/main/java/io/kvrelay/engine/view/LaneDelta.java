package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;

/**
 * Absolute bucket images that lead a lane from one sequence to the next. Not copied: the arrays
 * belong to the delta until it is applied or dropped. A delta is admitted to a pool once; it is its
 * own queue entry.
 */
final class LaneDelta extends IngestCommand {
  private final ProducerIdentity identity;
  private final LaneLease lease;
  private final long baseSequence;
  private final long sequence;
  private final int[] buckets;
  private final long[] words;
  private final int images;

  /**
   * Creates a delta.
   *
   * @param buckets bucket numbers, in the order in which they are to be stored
   * @param words the buckets' whole words, at the same indexes; zero is a normal image
   * @param images how many of both count
   */
  LaneDelta(
      ProducerIdentity identity,
      LaneLease lease,
      long baseSequence,
      long sequence,
      int[] buckets,
      long[] words,
      int images) {
    if (images < 0 || images > buckets.length || images > words.length) {
      throw new IllegalArgumentException(
          "images = " + images + ": beyond the arrays of " + buckets.length + "/" + words.length);
    }
    this.identity = identity;
    this.lease = lease;
    this.baseSequence = baseSequence;
    this.sequence = sequence;
    this.buckets = buckets;
    this.words = words;
    this.images = images;
  }

  ProducerIdentity identity() {
    return identity;
  }

  LaneLease lease() {
    return lease;
  }

  long baseSequence() {
    return baseSequence;
  }

  long sequence() {
    return sequence;
  }

  int[] buckets() {
    return buckets;
  }

  long[] words() {
    return words;
  }

  int images() {
    return images;
  }
}
