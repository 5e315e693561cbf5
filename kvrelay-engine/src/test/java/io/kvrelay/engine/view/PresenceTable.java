package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.ckf.CkfAddressing;
import java.util.BitSet;
import java.util.SplittableRandom;

/**
 * An index in which a test decides which lane holds which position of one prompt. The prompt's
 * hashes are chosen so that no two share a bucket: a lane holds exactly what it was given.
 */
final class PresenceTable {
  final LaneIndex index;
  final long[] hashes;
  private final int lanes;
  private final int[] bucketA;
  private final int[] bucketB;
  private final int[] fingerprints;

  PresenceTable(int lanes, int positions) {
    int buckets = Math.max(64, Integer.highestOneBit(8 * Math.max(1, positions)) << 1);
    this.lanes = lanes;
    CkfFormat format = new CkfFormat(CkfFormat.DEFAULT_SEED, buckets);
    index =
        new LaneIndex(
            Manifest.of(
                LaneFixtures.CONSUMER, LaneFixtures.DOMAIN, format, LaneFixtures.pools(lanes)));
    hashes = new long[positions];
    bucketA = new int[positions];
    bucketB = new int[positions];
    fingerprints = new int[positions];
    choose(index.addressing());
  }

  private void choose(CkfAddressing addressing) {
    SplittableRandom random = new SplittableRandom(1);
    BitSet taken = new BitSet();
    for (int i = 0; i < hashes.length; ) {
      long hash = random.nextLong();
      long mix = addressing.mix(hash);
      int a = addressing.bucketA(mix);
      int b = addressing.alternate(a, CkfAddressing.fingerprint(mix));
      if (!taken.get(a) && !taken.get(b)) {
        taken.set(a);
        taken.set(b);
        hashes[i] = hash;
        bucketA[i] = a;
        bucketB[i] = b;
        fingerprints[i++] = CkfAddressing.fingerprint(mix);
      }
    }
  }

  /** Writes a lane's presence and makes the lane ready. The slot and the bucket vary. */
  void hold(int lane, BitSet positions) {
    for (int i = 0; i < hashes.length; i++) {
      int shift = 16 * ((i + lane) & 3);
      long word = positions.get(i) ? (long) fingerprints[i] << shift : 0;
      boolean first = ((i + lane) & 4) == 0;
      index.table().set(bucketA[i], lane, first ? word : 0);
      index.table().set(bucketB[i], lane, first ? 0 : word);
    }
    index.publish(lane);
  }

  int lanes() {
    return lanes;
  }

  int[] search(PrefixQuery query) {
    query.searchSequence(index, hashes, 0, hashes.length);
    int[] depths = new int[lanes];
    for (int lane = 0; lane < lanes; lane++) {
      depths[lane] = query.depth(lane);
    }
    return depths;
  }

  static BitSet leading(int depth) {
    BitSet set = new BitSet();
    set.set(0, depth);
    return set;
  }
}
