package io.kvrelay.engine.ckf;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.testing.Seeds;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CkfBucketsTest {
  private static final int[] CONTENTS = {0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF};

  /** Every combination of contents that could carry or borrow into a neighbour. */
  @Test
  void oneWordAtATimeAnswersWhatOneSlotAtATimeDoes() {
    int n = CONTENTS.length;
    for (int i = 0; i < n * n * n * n; i++) {
      check(
          new int[] {
            CONTENTS[i % n], CONTENTS[i / n % n], CONTENTS[i / n / n % n], CONTENTS[i / n / n / n]
          });
    }
    Random random = Seeds.random();
    for (int i = 0; i < 10_000; i++) {
      check(random.ints(4, 0, 0x10000).toArray());
    }
  }

  private static void check(int[] slots) {
    long word = 0;
    int occupied = 0;
    for (int slot = 0; slot < 4; slot++) {
      word = CkfBuckets.with(word, slot, slots[slot]);
      occupied += slots[slot] != 0 ? 1 : 0;
    }
    for (int slot = 0; slot < 4; slot++) {
      assertThat(CkfBuckets.fingerprint(word, slot)).isEqualTo(slots[slot]);
      assertThat(CkfBuckets.with(word, slot, 0) | (long) slots[slot] << (16 * slot))
          .isEqualTo(word);
    }
    assertThat(CkfBuckets.occupied(word)).isEqualTo(occupied);
    assertThat(CkfBuckets.firstEmpty(word)).isEqualTo(first(slots, 0));
    for (int wanted : CONTENTS) {
      if (wanted != 0) {
        assertThat(CkfBuckets.firstMatch(word, wanted)).isEqualTo(first(slots, wanted));
        assertThat(CkfBuckets.contains(word, wanted))
            .isEqualTo(first(slots, wanted) != CkfBuckets.NONE);
      }
    }
  }

  private static int first(int[] slots, int wanted) {
    for (int slot = 0; slot < 4; slot++) {
      if (slots[slot] == wanted) {
        return slot;
      }
    }
    return CkfBuckets.NONE;
  }
}
