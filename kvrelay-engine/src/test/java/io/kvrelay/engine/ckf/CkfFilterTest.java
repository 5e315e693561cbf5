package io.kvrelay.engine.ckf;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CkfFilterTest {
  private static final BucketWrites NOBODY = (bucket, before) -> {};

  private static CkfFilter filter(long expectedBlocks) {
    CkfConfig config = CkfConfig.of(expectedBlocks);
    return new CkfFilter(config.format(), config.maxKicks());
  }

  private static long[] words(CkfFilter filter) {
    long[] words = new long[filter.bucketCount()];
    filter.copyTo(words);
    return words;
  }

  private static CkfFilter full() {
    CkfFilter filter = filter(1);
    for (long hash = 1; hash <= 8; hash++) {
      assertThat(filter.insert(filter.addressing().mix(hash), NOBODY)).isTrue();
    }
    return filter;
  }

  @Test
  void aFailedInsertChangesNoWordHandsOverNothingAndAdvancesTheGenerator() {
    CkfFilter filter = full();
    long[] before = words(filter);
    long generator = filter.randomState();
    List<Integer> written = new ArrayList<>();

    boolean inserted =
        filter.insert(filter.addressing().mix(9), (bucket, old) -> written.add(bucket));

    assertThat(inserted).isFalse();
    assertThat(words(filter)).isEqualTo(before);
    assertThat(written).isEmpty();
    assertThat(filter.randomState()).isNotEqualTo(generator);
  }

  @Test
  void anInsertWithoutRelocationIntoFullBucketsDrawsOnceAndChangesNothing() {
    CkfFilter filter = full();
    long[] before = words(filter);
    long stateOnce = filter.randomState() + 0x9E3779B97F4A7C15L;

    assertThat(filter.insertWithoutRelocation(filter.addressing().mix(9), NOBODY)).isFalse();

    assertThat(words(filter)).isEqualTo(before);
    assertThat(filter.randomState()).isEqualTo(stateOnce);
  }

  @Test
  void equalRepresentationsAreSeparateCopies() {
    CkfFilter filter = filter(64);
    long first = filter.addressing().mix(1491);
    long second = filter.addressing().mix(1541);
    filter.insert(first, NOBODY);
    filter.insert(second, NOBODY);

    assertThat(filter.remove(first, NOBODY)).isTrue();
    assertThat(filter.contains(first)).isTrue();
    assertThat(filter.contains(second)).isTrue();
    assertThat(filter.remove(second, NOBODY)).isTrue();
    assertThat(filter.contains(first)).isFalse();
    assertThat(filter.remove(first, NOBODY)).isFalse();
  }

  @Test
  void theAlternateOfTheAlternateIsTheBucketAndNeverTheOther() {
    for (int buckets = 2; buckets <= CkfFormat.MAX_BUCKETS; buckets <<= 1) {
      CkfAddressing addressing = new CkfAddressing(new CkfFormat(CkfFormat.DEFAULT_SEED, buckets));
      for (int fingerprint = 1; fingerprint <= 0xFFFF; fingerprint += 13) {
        assertThatAlternates(addressing, (fingerprint * 0x9E3779B1) & (buckets - 1), fingerprint);
        long mix = addressing.mix(fingerprint);
        assertThatAlternates(addressing, addressing.bucketA(mix), CkfAddressing.fingerprint(mix));
      }
    }
  }

  private static void assertThatAlternates(CkfAddressing addressing, int bucket, int fingerprint) {
    int other = addressing.alternate(bucket, fingerprint);
    assertThat(other).isNotEqualTo(bucket).isBetween(0, addressing.format().bucketCount() - 1);
    assertThat(addressing.alternate(other, fingerprint)).isEqualTo(bucket);
  }

  @Test
  void whatWasInsertedIsFoundAndTheWritesRebuildTheWords() {
    Random random = Seeds.random();
    CkfFilter filter = filter(200);
    Map<Long, Integer> copies = new HashMap<>();
    Map<Integer, Long> firstBefore = new HashMap<>();
    long[] start = words(filter);
    for (int i = 0; i < 20_000; i++) {
      long hash = random.nextInt(600);
      long mix = filter.addressing().mix(hash);
      BucketWrites record = (bucket, before) -> firstBefore.putIfAbsent(bucket, before);
      if (random.nextInt(3) != 0) {
        if (filter.insert(mix, record)) {
          copies.merge(hash, 1, Integer::sum);
        }
      } else if (copies.containsKey(hash)) {
        assertThat(filter.remove(mix, record)).isTrue();
        copies.computeIfPresent(hash, (key, count) -> count == 1 ? null : count - 1);
      }
    }

    copies.keySet().forEach(h -> assertThat(filter.contains(filter.addressing().mix(h))).isTrue());
    long[] now = words(filter);
    int occupied = 0;
    for (int bucket = 0; bucket < now.length; bucket++) {
      occupied += CkfBuckets.occupied(now[bucket]);
      assertThat(firstBefore.getOrDefault(bucket, now[bucket])).isEqualTo(start[bucket]);
    }
    assertThat(occupied).isEqualTo(copies.values().stream().mapToInt(i -> i).sum());
  }

  @Test
  void insertsAndRemovalsAllocateNothing() {
    CkfFilter filter = filter(100);
    for (long hash = 0; hash < 120; hash++) {
      filter.insert(filter.addressing().mix(hash), NOBODY);
    }
    long[] next = {1000};

    long bytes =
        Allocations.bytes(
            5_000,
            () -> {
              long mix = filter.addressing().mix(next[0]++);
              if (filter.insert(mix, NOBODY)) {
                filter.remove(mix, NOBODY);
              }
              filter.insertWithoutRelocation(mix, NOBODY);
              filter.remove(mix, NOBODY);
            });

    assertThat(bytes).isZero();
  }
}
