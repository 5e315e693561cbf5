package io.kvrelay.engine.publication;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The bucket words of one filter at one sequence, shared between a hub and the streams that
 * transfer them. While somebody has pinned a mirror its words do not change: the hub copies before
 * it writes.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>words</td><td>plain</td><td>read by pin holders; written by the hub's run while {@code
 * pins} is 0</td></tr>
 * <tr><td>pins</td><td>volatile</td><td>raised by the hub's run only, lowered by anyone</td></tr>
 * </table>
 */
final class Mirror {
  private final long[] words;
  private final AtomicInteger pins = new AtomicInteger();

  Mirror(long[] words) {
    this.words = words;
  }

  long[] words() {
    return words;
  }

  boolean isPinned() {
    return pins.get() != 0;
  }

  void pin() {
    pins.incrementAndGet();
  }

  void unpin() {
    pins.decrementAndGet();
  }

  /** Stores absolute images; the buckets have been checked. */
  void apply(int[] buckets, long[] images) {
    apply(words, buckets, images);
  }

  /** A copy that is one delta ahead. */
  Mirror copyAndApply(int[] buckets, long[] images) {
    long[] copy = words.clone();
    apply(copy, buckets, images);
    return new Mirror(copy);
  }

  private static void apply(long[] words, int[] buckets, long[] images) {
    for (int i = 0; i < buckets.length; i++) {
      words[buckets[i]] = images[i];
    }
  }
}
