package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the generated tables of the search benchmark hold, looked at word by word, against what the
 * search says: no depth is below the prefix that is still resident, and every block that is missing
 * was displaced. Small tables, filled as full as the large ones become with long prompts; {@code
 * -Dkvrelay.accuracy.expected=1000000 -Dkvrelay.accuracy.queries=512} takes the benchmark's own.
 */
class ViewLoadAccuracyTest {
  private static final int LANES = 16;
  private static final int EXPECTED = Integer.getInteger("kvrelay.accuracy.expected", 20_000);
  private static final int QUERIES = Integer.getInteger("kvrelay.accuracy.queries", 16);

  private record Displaced(int lane, int bucket, int fingerprint) {}

  @ParameterizedTest
  @CsvSource({
    "32, divergent", "32, agree", "32, skewed",
    "128, divergent", "128, agree", "128, skewed",
    "1024, divergent", "1024, agree", "1024, skewed"
  })
  void everyDepthBelowTheStoredPrefixEndsAtADisplacedBlock(int blocks, String pattern) {
    Set<Displaced> displaced = new HashSet<>();
    ViewLoad load =
        new ViewLoad(
            EXPECTED,
            LANES,
            blocks,
            pattern,
            QUERIES,
            (lane, bucket, fingerprint) -> displaced.add(new Displaced(lane, bucket, fingerprint)));
    PrefixQuery query = new PrefixQuery(load.index, PrefixQuery.DEFAULT_WINDOW);
    int below = 0;
    for (int q = 0; q < QUERIES; q++) {
      long[] sequence = SequenceHashes.chain(load.prompts[q]);
      assertThat(query.searchLocals(load.index, load.prompts[q], 0, blocks)).isTrue();
      for (int lane = 0; lane < LANES; lane++) {
        int stored = load.depths[q][lane];
        BitSet held = held(load.index, sequence, lane);
        int depth = query.depth(lane);
        assertThat(depth).isGreaterThanOrEqualTo(Math.min(blocks, held.nextClearBit(0)));
        if (depth < stored) {
          below++;
          assertThat(held.get(depth)).as("the end of a lane is a miss").isFalse();
        }
        for (int i = held.nextClearBit(0); i < stored; i = held.nextClearBit(i + 1)) {
          assertThat(wasDisplaced(load.index, sequence[i], lane, displaced)).isTrue();
        }
      }
    }
    System.out.printf(
        "%d blocks, %s: %d of %d depths below the stored one, %d fingerprints displaced%n",
        blocks, pattern, below, QUERIES * LANES, displaced.size());
    if (blocks == 1024 && !pattern.equals("skewed")) {
      assertThat(below).as("tables full enough to show it").isPositive();
    }
  }

  private static BitSet held(LaneIndex index, long[] sequence, int lane) {
    BitSet held = new BitSet();
    for (int i = 0; i < sequence.length; i++) {
      long mix = index.addressing().mix(sequence[i]);
      int fingerprint = CkfAddressing.fingerprint(mix);
      held.set(
          i,
          contains(index.table().get(index.addressing().bucketA(mix), lane), fingerprint)
              || contains(index.table().get(index.addressing().bucketB(mix), lane), fingerprint));
    }
    return held;
  }

  private static boolean contains(long word, int fingerprint) {
    for (int slot = 0; slot < 4; slot++) {
      if (CkfBuckets.fingerprint(word, slot) == fingerprint) {
        return true;
      }
    }
    return false;
  }

  private static boolean wasDisplaced(
      LaneIndex index, long hash, int lane, Set<Displaced> displaced) {
    long mix = index.addressing().mix(hash);
    int fingerprint = CkfAddressing.fingerprint(mix);
    return displaced.contains(new Displaced(lane, index.addressing().bucketA(mix), fingerprint))
        || displaced.contains(new Displaced(lane, index.addressing().bucketB(mix), fingerprint));
  }
}
