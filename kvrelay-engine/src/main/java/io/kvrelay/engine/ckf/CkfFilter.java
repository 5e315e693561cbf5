package io.kvrelay.engine.ckf;

import io.kvrelay.api.CkfFormat;
import java.util.function.IntFunction;

/**
 * A producer's mutable filter: a multiset of (fingerprint, bucket pair) representations in packed
 * words.
 *
 * <p>An insert takes the first empty slot of bucket A, else of bucket B, else evicts fingerprints
 * at random, at most {@code maxKicks} times; if that ends without a free slot, every write is
 * undone. Equal representations are separate copies. A removal takes away one copy, any one: the
 * caller's exact ownership is what makes that right. Words, writes and generator states equal the
 * reference implementation's for the same calls in the same order.
 *
 * <p>One thread at a time. Allocates nothing after construction. Cost: one cache line when bucket A
 * has room, two otherwise, one more for each eviction.
 */
public final class CkfFilter {
  private final CkfAddressing addressing;
  private final int maxKicks;
  private final long[] words;
  private final SplitMix64 random;

  // The writes of one relocation: maxKicks evictions and the final placement.
  private final int[] journalBuckets;
  private final long[] journalBefore;

  /**
   * Creates an empty filter.
   *
   * @param format seed and bucket count
   * @param maxKicks most evictions of one insert, 1..4096
   */
  public CkfFilter(CkfFormat format, int maxKicks) {
    this(format, maxKicks, long[]::new);
  }

  /**
   * Creates an empty filter in memory that the caller provides.
   *
   * @param format seed and bucket count
   * @param maxKicks most evictions of one insert, 1..4096
   * @param allocator makes a zeroed array of the given length
   */
  public CkfFilter(CkfFormat format, int maxKicks, IntFunction<long[]> allocator) {
    this.addressing = new CkfAddressing(format);
    this.maxKicks = CkfConfig.checkMaxKicks(maxKicks);
    this.words = allocator.apply(format.bucketCount());
    this.random = SplitMix64.forFilter(format.seed());
    this.journalBuckets = new int[maxKicks + 1];
    this.journalBefore = allocator.apply(maxKicks + 1);
  }

  /**
   * The filter's addressing.
   *
   * @return the addressing
   */
  public CkfAddressing addressing() {
    return addressing;
  }

  /**
   * One bucket.
   *
   * @param bucket its index
   * @return its word
   */
  public long word(int bucket) {
    return words[bucket];
  }

  /**
   * Loads buckets, so that what follows finds them in the cache.
   *
   * @param buckets their indexes
   * @param count how many of them
   * @return a number that means nothing; to be kept, so that the loads are not optimised away
   */
  public long touch(int[] buckets, int count) {
    long[] loaded = words;
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += loaded[buckets[i]];
    }
    return sum;
  }

  /**
   * Number of buckets.
   *
   * @return the number
   */
  public int bucketCount() {
    return words.length;
  }

  /**
   * Most buckets that one insert can write.
   *
   * @return evictions plus the final placement
   */
  public int maxWritesPerInsert() {
    return maxKicks + 1;
  }

  /**
   * Copies the words.
   *
   * @param target receives bucket 0 first; at least {@link #bucketCount()} long
   */
  public void copyTo(long[] target) {
    System.arraycopy(words, 0, target, 0, words.length);
  }

  /**
   * Whether a representation equal to this block's is present. May be another block's.
   *
   * @param mix {@link CkfAddressing#mix} of the block
   * @return true if one of the two buckets holds the fingerprint
   */
  public boolean contains(long mix) {
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = addressing.bucketA(mix);
    return CkfBuckets.contains(words[a], fingerprint)
        || CkfBuckets.contains(words[addressing.alternate(a, fingerprint)], fingerprint);
  }

  /**
   * Adds one copy, evicting others if need be.
   *
   * @param mix {@link CkfAddressing#mix} of the block
   * @param writes receives the writes if the insert succeeds
   * @return false if there was no room; then nothing has changed except the generator
   */
  public boolean insert(long mix, BucketWrites writes) {
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = addressing.bucketA(mix);
    if (placeInEmptySlot(a, fingerprint, writes)) {
      return true;
    }
    int b = addressing.alternate(a, fingerprint);
    return placeInEmptySlot(b, fingerprint, writes) || relocate(a, b, fingerprint, writes);
  }

  /**
   * Adds one copy only if one of its two buckets has room. A failure draws from the generator once,
   * as an insert without evictions does.
   *
   * @param mix {@link CkfAddressing#mix} of the block
   * @param writes receives the write if the insert succeeds
   * @return false if there was no room
   */
  public boolean insertWithoutRelocation(long mix, BucketWrites writes) {
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = addressing.bucketA(mix);
    if (placeInEmptySlot(a, fingerprint, writes)
        || placeInEmptySlot(addressing.alternate(a, fingerprint), fingerprint, writes)) {
      return true;
    }
    random.next();
    return false;
  }

  /**
   * Removes one copy of this block's representation: the first slot in bucket A, else in bucket B.
   *
   * @param mix {@link CkfAddressing#mix} of the block
   * @param writes receives the write
   * @return false if neither bucket holds the fingerprint: for an owned, resident block that is a
   *     broken invariant
   */
  public boolean remove(long mix, BucketWrites writes) {
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = addressing.bucketA(mix);
    return clearFirst(a, fingerprint, writes)
        || clearFirst(addressing.alternate(a, fingerprint), fingerprint, writes);
  }

  /** State of the generator, for the vectors. */
  long randomState() {
    return random.state();
  }

  private boolean placeInEmptySlot(int bucket, int fingerprint, BucketWrites writes) {
    long before = words[bucket];
    int slot = CkfBuckets.firstEmpty(before);
    if (slot == CkfBuckets.NONE) {
      return false;
    }
    words[bucket] = before | ((long) fingerprint << (slot << 4));
    writes.written(bucket, before);
    return true;
  }

  private boolean clearFirst(int bucket, int fingerprint, BucketWrites writes) {
    long before = words[bucket];
    int slot = CkfBuckets.firstMatch(before, fingerprint);
    if (slot == CkfBuckets.NONE) {
      return false;
    }
    words[bucket] = CkfBuckets.with(before, slot, 0);
    writes.written(bucket, before);
    return true;
  }

  private boolean relocate(int a, int b, int fingerprint, BucketWrites writes) {
    int bucket = (random.next() & 1) == 0 ? a : b;
    int carried = fingerprint;
    int journaled = 0;
    while (journaled < maxKicks) {
      int slot = (int) random.next() & 3;
      long before = words[bucket];
      journalBuckets[journaled] = bucket;
      journalBefore[journaled++] = before;
      words[bucket] = CkfBuckets.with(before, slot, carried);
      carried = CkfBuckets.fingerprint(before, slot);
      bucket = addressing.alternate(bucket, carried);
      long target = words[bucket];
      int empty = CkfBuckets.firstEmpty(target);
      if (empty != CkfBuckets.NONE) {
        words[bucket] = CkfBuckets.with(target, empty, carried);
        journalBuckets[journaled] = bucket;
        journalBefore[journaled++] = target;
        handOver(journaled, writes);
        return true;
      }
    }
    rollBack(journaled);
    return false;
  }

  private void handOver(int journaled, BucketWrites writes) {
    for (int i = 0; i < journaled; i++) {
      writes.written(journalBuckets[i], journalBefore[i]);
    }
  }

  private void rollBack(int journaled) {
    for (int i = journaled - 1; i >= 0; i--) {
      words[journalBuckets[i]] = journalBefore[i];
    }
  }
}
