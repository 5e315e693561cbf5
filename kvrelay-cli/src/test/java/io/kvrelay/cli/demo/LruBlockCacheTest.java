package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class LruBlockCacheTest {
  private static void ignored(long hash) {}

  @Test
  void evictsTheLeastRecentlyUsedSequenceFromItsEnd() {
    LruBlockCache cache = new LruBlockCache(4);
    cache.use(new long[] {1, 2}, 2, 0, LruBlockCacheTest::ignored);
    cache.use(new long[] {11, 12}, 2, 0, LruBlockCacheTest::ignored);
    List<Long> evicted = new ArrayList<>();
    cache.use(new long[] {21, 22, 23}, 3, 0, evicted::add);
    assertThat(evicted).containsExactly(2L, 1L, 12L);
    assertThat(cache.match(new long[] {11, 12}, 2)).isEqualTo(1);
  }

  @Test
  void doesNotEvictWhatTheRequestUses() {
    LruBlockCache cache = new LruBlockCache(3);
    cache.use(new long[] {1, 2}, 2, 0, LruBlockCacheTest::ignored);
    cache.use(new long[] {9}, 1, 0, LruBlockCacheTest::ignored);
    List<Long> evicted = new ArrayList<>();
    // 1 and 2 are older than 9, but in use.
    cache.use(new long[] {1, 2, 3}, 3, 2, evicted::add);
    assertThat(evicted).containsExactly(9L);
    assertThat(cache.match(new long[] {1, 2, 3}, 3)).isEqualTo(3);
  }

  @Test
  void clearTellsEveryBlockAndStartsOver() {
    LruBlockCache cache = new LruBlockCache(2);
    cache.use(new long[] {1, 2}, 2, 0, LruBlockCacheTest::ignored);
    List<Long> gone = new ArrayList<>();
    cache.clear(gone::add);
    assertThat(gone).containsExactlyInAnyOrder(1L, 2L);
    assertThat(cache.size()).isZero();
    cache.use(new long[] {3, 4}, 2, 0, hash -> assertThat(hash).isNull());
    assertThat(cache.match(new long[] {3, 4}, 2)).isEqualTo(2);
  }

  /** Against a plain LRU list, with prefixes that branch at random. */
  @Test
  void agreesWithANaiveListAndNeverOrphansABlock() {
    SplittableRandom random = Seed.random();
    int capacity = 40;
    LruBlockCache cache = new LruBlockCache(capacity);
    LinkedHashSet<Long> model = new LinkedHashSet<>();
    for (int round = 0; round < 5_000; round++) {
      long[] sequence = path(random);
      int matched = cache.match(sequence, sequence.length);
      assertThat(matched).isEqualTo(naiveMatch(model, sequence));
      List<Long> evicted = new ArrayList<>();
      cache.use(sequence, sequence.length, matched, evicted::add);
      assertThat(evicted).isEqualTo(naiveUse(model, sequence, capacity));
      assertThat(cache.size()).isEqualTo(model.size());
      // A block's parent is its number without the last digit.
      Set<Long> resident = new HashSet<>(model);
      assertThat(resident).allMatch(block -> block < 10 || resident.contains(block / 10));
    }
  }

  private static long[] path(SplittableRandom random) {
    long[] sequence = new long[1 + random.nextInt(8)];
    long block = 1L + random.nextInt(3);
    for (int i = 0; i < sequence.length; i++) {
      sequence[i] = block;
      block = block * 10 + 1 + random.nextInt(3);
    }
    return sequence;
  }

  private static int naiveMatch(Set<Long> model, long[] sequence) {
    int depth = 0;
    while (depth < sequence.length && model.contains(sequence[depth])) {
      depth++;
    }
    return depth;
  }

  /** The oldest comes first in the set. */
  private static List<Long> naiveUse(Set<Long> model, long[] sequence, int capacity) {
    for (int i = sequence.length - 1; i >= 0; i--) {
      model.remove(sequence[i]);
      model.add(sequence[i]);
    }
    List<Long> evicted = new ArrayList<>();
    while (model.size() > capacity) {
      long oldest = model.iterator().next();
      model.remove(oldest);
      evicted.add(oldest);
    }
    return evicted;
  }
}
