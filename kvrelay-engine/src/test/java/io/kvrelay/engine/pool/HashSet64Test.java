package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HashSet64Test {
  private final FaultyMemory memory = new FaultyMemory();
  private final HashSet64 set = new HashSet64(memory);

  @Test
  void itIsASet() {
    Random random = Seeds.random();
    for (int round = 0; round < 50; round++) {
      Set<Long> model = new HashSet<>();
      assertThat(set.isEmpty()).isTrue();
      for (int left = random.nextInt(3000); left > 0; left--) {
        long key = random.nextInt(4) == 0 ? random.nextInt(100) : Chunks.mix(random.nextInt(500));
        set.add(key);
        model.add(key);
        long other = Chunks.mix(random.nextInt(500));
        assertThat(set.contains(other)).isEqualTo(model.contains(other));
      }
      model.forEach(key -> assertThat(set.contains(key)).isTrue());
      set.clear();
      model.forEach(key -> assertThat(set.contains(key)).isFalse());
    }
  }

  @Test
  void aLargeTableDoesNotOutliveItsEvent() {
    for (long key = 1; key <= 60_000; key++) {
      set.add(Chunks.mix(key));
    }
    assertThat(set.bytes()).isGreaterThan(8 * 60_000L);

    set.clear();

    assertThat(set.bytes()).isEqualTo(128);
    assertThat(set.isEmpty()).isTrue();
    for (long key = 1; key <= 60_000; key++) {
      assertThat(set.contains(Chunks.mix(key))).isFalse();
    }
  }

  @Test
  void whatAnEventOftenNeedsIsKept() {
    Runnable event =
        () -> {
          for (long key = 1; key <= 400; key++) {
            set.add(Chunks.mix(key));
          }
          set.clear();
        };

    assertThat(Allocations.bytes(3, event)).isZero();
  }

  @Test
  void aKeyThatFindsNoMemoryIsForgotten() {
    memory.untilFailure = 0;
    memory.lasting = true;
    for (long key = 1; key <= 1000; key++) {
      set.add(Chunks.mix(key));
    }

    assertThat(memory.refused).isPositive();
    assertThat(set.contains(Chunks.mix(1))).isTrue();
    assertThat(set.contains(Chunks.mix(1000))).isFalse();
    set.clear();
    assertThat(set.isEmpty()).isTrue();
  }
}
