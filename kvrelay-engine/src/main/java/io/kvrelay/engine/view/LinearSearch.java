package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.hash.SequenceHashes;

/**
 * The plainest search that keeps the depth contract: probes position after position, all ready
 * lanes at a time, until no lane is left. A depth is the number of leading hits. Reusable, not
 * thread safe, allocates nothing once it has seen its longest prompt.
 */
final class LinearSearch {
  private static final int LANES = 64;

  private final int[] depths = new int[LANES];
  private LaneIndex.Capture capture;
  private long[] chain = new long[64];

  LinearSearch(LaneIndex index) {
    this.capture = index.capture();
  }

  /**
   * Searches for a prompt given by its blocks' local hashes.
   *
   * @return false if no lane is ready; there is no result then
   */
  boolean searchLocals(LaneIndex index, long[] localHashes, int from, int to) {
    capture = index.capture();
    int blocks = to - from;
    if (chain.length < blocks) {
      chain = new long[Math.max(blocks, chain.length * 2)];
    }
    SequenceHashes.chain(localHashes, from, to, chain, 0);
    long open = capture.readyLanes();
    for (int position = 0; position < blocks && open != 0; position++) {
      long missing = open & ~present(index, chain[position], open);
      settle(missing, position);
      open &= ~missing;
    }
    settle(open, blocks);
    return capture.readyLanes() != 0;
  }

  private static long present(LaneIndex index, long hash, long lanes) {
    CkfAddressing addressing = index.addressing();
    TransposedTable table = index.table();
    long mix = addressing.mix(hash);
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = addressing.bucketA(mix);
    int b = addressing.bucketB(mix);
    long hits = 0;
    for (long left = lanes; left != 0; left &= left - 1) {
      int lane = Long.numberOfTrailingZeros(left);
      if (CkfBuckets.contains(table.get(a, lane), fingerprint)
          || CkfBuckets.contains(table.get(b, lane), fingerprint)) {
        hits |= 1L << lane;
      }
    }
    return hits;
  }

  private void settle(long lanes, int depth) {
    for (long left = lanes; left != 0; left &= left - 1) {
      depths[Long.numberOfTrailingZeros(left)] = depth;
    }
  }

  long capturedLanes() {
    return capture.readyLanes();
  }

  int depth(int lane) {
    return depths[lane];
  }

  PoolId pool(int lane) {
    return capture.manifest().pool(lane);
  }
}
