package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The table of blocks next to the JDK's map. */
class HashTableTest {
  @Test
  void behavesLikeAMapUnderRandomUse() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    Random random = new Random(seed);
    HashTable table = new HashTable(true);
    Map<Long, long[]> map = new HashMap<>();
    for (int i = 0; i < 200_000; i++) {
      // Few keys with equal low bits: long chains, and every way of moving back.
      long key = (long) random.nextInt(300) << (random.nextInt(4) * 16);
      int slot = table.find(key);
      assertThat(slot != HashTable.NONE)
          .as("-Dkvrelay.seed=%d", seed)
          .isEqualTo(map.containsKey(key));
      switch (random.nextInt(4)) {
        case 0, 1 -> {
          if (slot == HashTable.NONE) {
            table.insert(key, i);
            map.put(key, new long[] {1, i});
          } else {
            table.retain(slot);
            map.get(key)[0]++;
          }
        }
        case 2 -> {
          if (slot != HashTable.NONE && table.release(slot) == (--map.get(key)[0] == 0)) {
            map.values().removeIf(value -> value[0] == 0);
          }
        }
        default -> {
          if (slot != HashTable.NONE && random.nextInt(4) == 0) {
            table.remove(slot);
            map.remove(key);
          }
        }
      }
    }
    assertThat(table.size()).isEqualTo(map.size());
    for (Map.Entry<Long, long[]> entry : map.entrySet()) {
      int slot = table.find(entry.getKey());
      assertThat(table.count(slot)).isEqualTo((int) entry.getValue()[0]);
      assertThat(table.word(slot)).isEqualTo(entry.getValue()[1]);
    }
    table.clear();
    assertThat(table.size()).isZero();
    assertThat(map.keySet()).noneMatch(table::contains);
  }

  @Test
  void zeroIsAKeyLikeAnyOther() {
    HashTable table = new HashTable(false);
    assertThat(table.contains(0)).isFalse();
    table.insert(0, 0);
    assertThat(table.contains(0)).isTrue();
    assertThat(table.release(table.find(0))).isTrue();
    assertThat(table.contains(0)).isFalse();
  }
}
