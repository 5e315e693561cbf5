package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The two tables against {@link HashMap}, with keys that collide as badly as keys can. */
class PoolTablesTest {
  private static final int OPERATIONS = 60_000;

  /**
   * Keys as they reach a table: spread, all in few chunks, all in one chunk, equal in their tags.
   */
  private static LongUnaryOperator keys(String shape) {
    return switch (shape) {
      case "spread" -> Chunks::mix;
      case "few chunks" -> key -> (key << 60) | key;
      case "one chunk" -> key -> key;
      case "last chunk" -> key -> key | (0xFFFF_FFFFL << 32);
      default -> key -> Chunks.mix(key) & ~0x7FL;
    };
  }

  private static int guess(TwoChoiceTable table, long key) {
    int[] guesses = {-7};
    table.guess(new long[] {key}, guesses, 1);
    assertThat(TwoChoiceTable.load(guesses[0])).isBetween(0, table.positions() - 1);
    return guesses[0];
  }

  @ParameterizedTest
  @ValueSource(strings = {"spread", "few chunks", "one chunk", "last chunk", "one tag"})
  void aLineageTableIsAMap(String shape) {
    Random random = Seeds.random();
    LongUnaryOperator keys = keys(shape);
    LineageMap table = new LineageMap(Memory.HEAP);
    Map<Long, Long> model = new HashMap<>();
    for (int i = 0; i < OPERATIONS; i++) {
      int range = i / 15_000 % 2 == 0 ? 3000 : 300;
      long key = keys.applyAsLong(random.nextInt(range));
      int position = table.find(key);
      assertThat(position >= 0).isEqualTo(model.containsKey(key));
      assertThat(table.find(key, guess(table, key))).isEqualTo(position);
      if (position >= 0) {
        assertThat(table.valueAt(position)).isEqualTo(model.get(key));
      }
      if (random.nextInt(5) < (i / 15_000 % 2 == 0 ? 3 : 1)) {
        if (position < 0) {
          assertThat(table.put(key, i)).isEqualTo(LineageMap.ADDED);
          model.put(key, (long) i);
        }
        assertThat(table.put(key, model.get(key))).isEqualTo(LineageMap.KNOWN);
        assertThat(table.put(key, -1)).isEqualTo(LineageMap.CONFLICT);
        assertThat(table.isAt(table.find(key), key)).isTrue();
      } else if (position >= 0) {
        table.removeAt(position);
        model.remove(key);
        assertThat(table.isAt(position, key)).isFalse();
      }
      if (i % 5000 == 0) {
        table.trim();
      }
    }
    assertThat(table.size()).isEqualTo(model.size());
    List<Long> values = new ArrayList<>();
    for (int position = 0; position < table.positions(); position++) {
      if (table.isUsed(position)) {
        values.add(table.valueAt(position));
      }
    }
    assertThat(values).containsExactlyInAnyOrderElementsOf(model.values());
  }

  @ParameterizedTest
  @ValueSource(strings = {"spread", "few chunks", "one chunk", "last chunk", "one tag"})
  void anOwnerTableCounts(String shape) {
    Random random = Seeds.random();
    LongUnaryOperator keys = keys(shape);
    OwnerMap table = new OwnerMap(Memory.HEAP, 0);
    Map<Long, Long> counts = new HashMap<>();
    Map<Long, Boolean> residents = new HashMap<>();
    for (int i = 0; i < OPERATIONS; i++) {
      int range = i / 15_000 % 2 == 0 ? 2000 : 20;
      long key = keys.applyAsLong(random.nextInt(range));
      int position = table.find(key);
      assertThat(table.find(key, guess(table, key))).isEqualTo(position);
      assertThat(position < 0 ? 0 : table.countAt(position, key))
          .isEqualTo(counts.getOrDefault(key, 0L));
      if (random.nextInt(20) < 11) {
        position = table.add(key);
        assertThat(table.isAt(position, key)).isTrue();
        counts.merge(key, 1L, Long::sum);
        if (!table.isResident(position) && random.nextBoolean()) {
          table.setResident(position);
          residents.put(key, true);
        }
      } else if (position >= 0) {
        assertThat(table.isResident(position)).isEqualTo(residents.containsKey(key));
        assertThat(table.isLastResident(position))
            .isEqualTo(counts.get(key) == 1 && residents.containsKey(key));
        table.releaseAt(position, key);
        counts.computeIfPresent(key, (k, count) -> count == 1 ? null : count - 1);
        if (!counts.containsKey(key)) {
          residents.remove(key);
        }
      }
      if (i % 5000 == 0) {
        table.trim();
      }
    }
    assertThat(counts.values().stream().mapToLong(n -> n).max().orElse(0)).isGreaterThan(70);
    assertThat(table.size()).isEqualTo(counts.size());
    assertThat(table.residents()).isEqualTo(residents.size());
  }

  @Test
  void tablesRunFullGrowByLittleAndGiveBackWhatIsNotUsed() {
    LineageMap lineage = new LineageMap(Memory.HEAP);
    OwnerMap owners = new OwnerMap(Memory.HEAP, 0);
    for (long i = 1; i <= 200_000; i++) {
      lineage.insert(Chunks.mix(i), i);
      owners.add(Chunks.mix(i));
      if (i > 20_000 && i % 1000 == 0) {
        assertThat(lineage.bytes()).isLessThan(24 * i);
        assertThat(owners.bytes()).isLessThan(14 * i);
      }
    }
    long full = lineage.bytes() + owners.bytes();
    for (long i = 1; i <= 199_000; i++) {
      lineage.removeAt(lineage.find(Chunks.mix(i)));
      owners.releaseAt(owners.find(Chunks.mix(i)), Chunks.mix(i));
    }
    lineage.trim();
    owners.trim();

    assertThat(lineage.bytes() + owners.bytes()).isLessThan(full / 100);
    assertThat(lineage.find(Chunks.mix(200_000))).isNotNegative();
    assertThat(owners.find(Chunks.mix(200_000))).isNotNegative();
  }

  /**
   * What a lookup costs depends on where keys lie after long churn; a fresh table proves nothing.
   */
  @Test
  void churnSendsNoKeyAstray() {
    LineageMap lineage = new LineageMap(Memory.HEAP);
    OwnerMap owners = new OwnerMap(Memory.HEAP, 0);
    long last = fill(lineage, owners);
    long strays = 0;
    for (long i = last + 1; i <= 30 * last; i++) {
      long gone = Chunks.mix(i - last);
      lineage.removeAt(lineage.find(gone));
      owners.releaseAt(owners.find(gone), gone);
      lineage.insert(Chunks.mix(i), i);
      owners.add(Chunks.mix(i));
      strays = Math.max(strays, lineage.strays() + owners.strays());
    }

    assertThat(lineage.size()).isEqualTo(last);
    assertThat(owners.size()).isEqualTo(last);
    assertThat(strays).isLessThan(last / 1000);
  }

  /** Fills the lineage table to its limit. */
  private static long fill(LineageMap lineage, OwnerMap owners) {
    long last = 0;
    while (last < 20_000 || lineage.room() > 0) {
      last++;
      lineage.insert(Chunks.mix(last), last);
      owners.add(Chunks.mix(last));
    }
    return last;
  }

  @Test
  void theMixIsABijection() {
    // Both factors are odd and the shift is invertible; equal results of distinct keys would show.
    java.util.Set<Long> seen = new java.util.HashSet<>();
    Random random = Seeds.random();
    for (int i = 0; i < 100_000; i++) {
      seen.add(Chunks.mix(i));
      seen.add(Chunks.mix((long) i << 40));
    }
    assertThat(seen).hasSize(199_999);
    assertThat(Chunks.mix(random.nextLong() | 1)).isNotZero();
  }
}
