package io.kvrelay.engine.pool;

/**
 * Absolute images of the buckets that one publication changes: bucket {@code buckets[i]} now holds
 * {@code words[i]}.
 *
 * <p>Never empty, no bucket twice, in the order in which the buckets were first touched. The arrays
 * are exact and owned by the receiver together with everyone it shares them with: do not change
 * them.
 */
public final class BucketImages {
  private final int[] buckets;
  private final long[] words;

  BucketImages(int[] buckets, long[] words) {
    this.buckets = buckets;
    this.words = words;
  }

  /**
   * Number of images.
   *
   * @return at least 1
   */
  public int count() {
    return buckets.length;
  }

  /**
   * The changed buckets, shared.
   *
   * @return bucket indexes
   */
  public int[] buckets() {
    return buckets;
  }

  /**
   * The changed buckets' words, shared; 0 is an ordinary image of an empty bucket.
   *
   * @return words, at the same indexes
   */
  public long[] words() {
    return words;
  }
}
