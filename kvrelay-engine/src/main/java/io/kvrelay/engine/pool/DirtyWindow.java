package io.kvrelay.engine.pool;

import io.kvrelay.engine.ckf.BucketWrites;
import java.util.Arrays;

/**
 * The buckets written since the last drain, each with its word before the first write, in the order
 * of first touch.
 *
 * <p>A bitmap answers "seen before?" with one bit; the list grows by {@link #reserve} before an
 * operation, never inside one. One thread at a time.
 */
final class DirtyWindow implements BucketWrites {
  private static final int FIRST_CAPACITY = 64;

  private final Memory memory;
  private final int bucketCount;
  private final long[] seen;
  private int[] buckets;
  private long[] before;
  private int size;
  private long physicalTouches;

  DirtyWindow(Memory memory, int bucketCount) {
    this.memory = memory;
    this.bucketCount = bucketCount;
    this.seen = memory.longs((bucketCount + 63L) >>> 6);
    int capacity = Math.min(FIRST_CAPACITY, bucketCount);
    this.buckets = memory.ints(capacity);
    this.before = memory.longs(capacity);
  }

  @Override
  public void written(int bucket, long wordBefore) {
    physicalTouches++;
    mark(bucket, wordBefore);
  }

  /** Adds a bucket unless the window has it. Room must have been reserved. */
  void mark(int bucket, long original) {
    long bit = 1L << bucket;
    long word = seen[bucket >>> 6];
    if ((word & bit) == 0) {
      seen[bucket >>> 6] = word | bit;
      buckets[size] = bucket;
      before[size++] = original;
    }
  }

  /**
   * Makes room for more buckets. Throws {@link OutOfMemoryError} and changes nothing if there is
   * none.
   */
  void reserve(long additional) {
    long needed = Math.min(bucketCount, size + additional);
    if (needed > buckets.length) {
      grow(Math.min(bucketCount, Math.max(needed, 2L * buckets.length)));
    }
  }

  /**
   * Makes room for more buckets, if that can be done.
   *
   * @return whether there is room
   */
  boolean tryReserve(long additional) {
    try {
      reserve(additional);
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }

  private void grow(long capacity) {
    int[] nextBuckets = memory.ints(capacity);
    long[] nextBefore = memory.longs(capacity);
    System.arraycopy(buckets, 0, nextBuckets, 0, size);
    System.arraycopy(before, 0, nextBefore, 0, size);
    buckets = nextBuckets;
    before = nextBefore;
  }

  int size() {
    return size;
  }

  int bucket(int index) {
    return buckets[index];
  }

  long before(int index) {
    return before[index];
  }

  boolean contains(int bucket) {
    return (seen[bucket >>> 6] & (1L << bucket)) != 0;
  }

  void clear() {
    if (size > seen.length) {
      Arrays.fill(seen, 0);
    } else {
      for (int i = 0; i < size; i++) {
        seen[buckets[i] >>> 6] = 0;
      }
    }
    size = 0;
  }

  /** Writes that inserts and removals handed over, over the window's whole life. */
  long physicalTouches() {
    return physicalTouches;
  }

  void addPhysicalTouches(long more) {
    physicalTouches += more;
  }

  long bytes() {
    return 8L * seen.length + 4L * buckets.length + 8L * before.length;
  }
}
