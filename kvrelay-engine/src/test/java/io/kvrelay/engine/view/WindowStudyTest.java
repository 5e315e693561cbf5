package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.ckf.CkfFilter;
import io.kvrelay.engine.testing.Seeds;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Why the default window is 2: on filled filters, the smallest window at which search and linear
 * scan agree on every lane. {@code -Dkvrelay.study=full} repeats the whole study; the build runs a
 * small part of it.
 */
class WindowStudyTest {
  private static final boolean FULL = "full".equals(System.getProperty("kvrelay.study"));
  private static final int BUCKETS = 16_384;
  private static final int LANES = 16;
  private static final int MAX_RESIDENT = 32;
  private static final int[] LENGTHS = FULL ? new int[] {1, 8, 32, 128, 512} : new int[] {8, 128};
  private static final int QUERIES = FULL ? 1024 : 128;
  private static final int SEEDS = FULL ? 8 : 1;

  @Test
  void theDefaultWindowIsTheSmallestExactOne() {
    Random random = Seeds.random();
    long[] productMisses = new long[PrefixQuery.MAX_WINDOW + 1];
    long[] referenceMisses = new long[PrefixQuery.MAX_WINDOW + 1];
    long observations = 0;
    for (double occupancy : new double[] {0.5, 0.8, 0.9}) {
      for (int length : LENGTHS) {
        for (int seed = 0; seed < SEEDS; seed++) {
          observations += cell(random, occupancy, length, productMisses, referenceMisses);
        }
      }
    }
    System.out.printf(
        "window study: %d lane observations; disagreements with a linear scan at windows 1, 2, 8:"
            + " search %d, %d, %d; reference %d, %d, %d%n",
        observations,
        productMisses[1],
        productMisses[2],
        productMisses[8],
        referenceMisses[1],
        referenceMisses[2],
        referenceMisses[8]);
    assertThat(productMisses[2]).isZero();
    assertThat(productMisses[8]).isZero();
    assertThat(referenceMisses[2]).isZero();
    assertThat(referenceMisses[8]).isZero();
  }

  private static long cell(
      Random random, double occupancy, int length, long[] product, long[] reference) {
    CkfFormat format = new CkfFormat(random.nextLong(), BUCKETS);
    LaneIndex index =
        new LaneIndex(
            Manifest.of(
                LaneFixtures.CONSUMER, LaneFixtures.DOMAIN, format, LaneFixtures.pools(LANES)));
    long[][] prompts = new long[QUERIES][];
    for (int q = 0; q < QUERIES; q++) {
      prompts[q] = random.longs(length).toArray();
    }
    for (int lane = 0; lane < LANES; lane++) {
      fill(index, lane, format, prompts, occupancy, random);
    }
    PrefixQuery[] queries = new PrefixQuery[PrefixQuery.MAX_WINDOW + 1];
    for (int window : new int[] {1, 2, 8}) {
      queries[window] = new PrefixQuery(index, window);
    }
    for (long[] prompt : prompts) {
      BitSet[] presence = presence(index, prompt);
      for (int window : new int[] {1, 2, 8}) {
        queries[window].searchSequence(index, prompt, 0, length);
        int[] oracle =
            SearchVectorsTest.oracle(length, window, presence, true).search((1L << LANES) - 1);
        for (int lane = 0; lane < LANES; lane++) {
          int linear = DepthContract.linear(presence[lane], length);
          product[window] += queries[window].depth(lane) == linear ? 0 : 1;
          reference[window] += oracle[lane] == linear ? 0 : 1;
        }
      }
    }
    return (long) prompts.length * LANES;
  }

  private static void fill(
      LaneIndex index,
      int lane,
      CkfFormat format,
      long[][] prompts,
      double occupancy,
      Random random) {
    CkfFilter filter = new CkfFilter(format, 4096);
    int stored = 0;
    for (long[] prompt : prompts) {
      int resident = random.nextInt(Math.min(MAX_RESIDENT, prompt.length) + 1);
      for (int i = 0; i < resident; i++) {
        assertThat(filter.insert(filter.addressing().mix(prompt[i]), (bucket, before) -> {}))
            .isTrue();
        stored++;
      }
    }
    while (stored < occupancy * 4 * BUCKETS) {
      if (filter.insert(filter.addressing().mix(random.nextLong()), (bucket, before) -> {})) {
        stored++;
      }
    }
    long[] words = new long[BUCKETS];
    filter.copyTo(words);
    index.table().storeColumn(lane, words);
    index.publish(lane);
  }

  private static BitSet[] presence(LaneIndex index, long[] prompt) {
    ProbeSlots slots = new ProbeSlots(1, index);
    BitSet[] presence = new BitSet[LANES];
    for (int lane = 0; lane < LANES; lane++) {
      presence[lane] = new BitSet();
    }
    for (int position = 0; position < prompt.length; position++) {
      slots.fill(0, prompt[position], (1L << LANES) - 1);
      slots.pull();
      long holders = slots.holders(0, (1L << LANES) - 1);
      for (int lane = 0; lane < LANES; lane++) {
        presence[lane].set(position, (holders >>> lane & 1) != 0);
      }
    }
    return presence;
  }
}
