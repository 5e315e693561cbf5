package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class LongIntMapTest {
  @Test
  void behavesLikeAHashMapThroughCollisionsGrowthAndRemoval() {
    SplittableRandom random = Seed.random();
    LongIntMap map = new LongIntMap(1);
    Map<Long, Integer> model = new HashMap<>();
    for (int i = 0; i < 200_000; i++) {
      long key = random.nextLong(3_000) - 1_500;
      switch (random.nextInt(4)) {
        case 0 -> {
          int value = random.nextInt(1_000);
          map.put(key, value);
          model.put(key, value);
        }
        case 1 -> {
          map.remove(key);
          model.remove(key);
        }
        case 2 -> {
          map.increment(key);
          model.merge(key, 1, Integer::sum);
        }
        default -> assertThat(map.get(key)).isEqualTo(model.getOrDefault(key, LongIntMap.ABSENT));
      }
      assertThat(map.size()).isEqualTo(model.size());
    }
    model.forEach((key, value) -> assertThat(map.get(key)).isEqualTo(value));
    map.clear();
    assertThat(map.size()).isZero();
    assertThat(map.contains(model.keySet().iterator().next())).isFalse();
  }

  @Test
  void forgetsAKeyThatIsCountedDownToZero() {
    LongIntMap map = new LongIntMap(4);
    map.increment(7);
    map.increment(7);
    map.decrement(7);
    assertThat(map.get(7)).isEqualTo(1);
    map.decrement(7);
    assertThat(map.contains(7)).isFalse();
    assertThatIllegalStateException().isThrownBy(() -> map.decrement(7));
  }
}
