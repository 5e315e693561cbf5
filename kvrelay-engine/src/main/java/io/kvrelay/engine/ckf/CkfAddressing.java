package io.kvrelay.engine.ckf;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.hash.Xxh3;

/**
 * Where a sequence hash may lie in a filter of one format: a fingerprint and two buckets, each the
 * other's alternate.
 *
 * <p>One call of {@link #mix} is the only hash of a block; fingerprint and first bucket are bit
 * fields of it. The second bucket needs a hash of the two-byte fingerprint. That hash is two
 * multiplications, cheaper than a load from a 256 KiB table of all fingerprints that would compete
 * with the filter for the cache.
 *
 * <p>Immutable, safe for any number of threads, allocates nothing.
 */
public final class CkfAddressing {
  private static final long DELTA_SEED = 0x9E3779B97F4A7C15L;

  private final CkfFormat format;
  private final Xxh3 mixer;
  private final Xxh3 deltas;
  private final int mask;

  /**
   * Creates the addressing of a format.
   *
   * @param format seed and bucket count
   */
  public CkfAddressing(CkfFormat format) {
    this.format = format;
    this.mixer = Xxh3.withSeed(format.seed());
    this.deltas = Xxh3.withSeed(format.seed() ^ DELTA_SEED);
    this.mask = format.bucketCount() - 1;
  }

  /**
   * The format addressed.
   *
   * @return the format
   */
  public CkfFormat format() {
    return format;
  }

  /**
   * Hashes a sequence hash once; the other methods take the result.
   *
   * @param sequenceHash the block's canonical name
   * @return the mix
   */
  public long mix(long sequenceHash) {
    return mixer.hashLong(sequenceHash);
  }

  /**
   * The fingerprint: the low 16 bits of the mix, where 0 becomes 1 because 0 marks an empty slot.
   *
   * @param mix from {@link #mix}
   * @return 1..65535
   */
  public static int fingerprint(long mix) {
    int low = (int) mix & 0xFFFF;
    return low == 0 ? 1 : low;
  }

  /**
   * The first bucket.
   *
   * @param mix from {@link #mix}
   * @return the bucket
   */
  public int bucketA(long mix) {
    return (int) (mix >>> 16) & mask;
  }

  /**
   * The second bucket.
   *
   * @param mix from {@link #mix}
   * @return the bucket; never equal to {@link #bucketA}
   */
  public int bucketB(long mix) {
    return alternate(bucketA(mix), fingerprint(mix));
  }

  /**
   * The other bucket in which a fingerprint found in {@code bucket} may lie. An involution.
   *
   * @param bucket one of its two buckets
   * @param fingerprint 1..65535
   * @return the other one; never equal to {@code bucket}
   */
  public int alternate(int bucket, int fingerprint) {
    int delta = (int) deltas.hashShort(fingerprint) & mask;
    return bucket ^ (delta == 0 ? 1 : delta);
  }
}
