package io.kvrelay.engine.ckf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CkfFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CkfConfigTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 4096})
  void theBoundsOfKicksAreAccepted(int maxKicks) {
    assertThat(new CkfConfig(1, 7, maxKicks).format()).isEqualTo(new CkfFormat(7, 2));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 4097})
  void kicksOutOfRangeAreRefusedByName(int maxKicks) {
    assertThatThrownBy(() -> new CkfConfig(1, 7, maxKicks))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("maxKicks = " + maxKicks);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, 53_687_092, Long.MAX_VALUE})
  void blocksThatNoFilterCanHoldAreRefusedByName(long expectedBlocks) {
    assertThatThrownBy(() -> CkfConfig.of(expectedBlocks))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("expectedBlocks = " + expectedBlocks);
  }

  @Test
  void everyPowerOfTwoOfBucketsStaysItself() {
    for (int buckets = 2; buckets <= CkfFormat.MAX_BUCKETS; buckets <<= 1) {
      assertThat(CkfConfig.bucketCount(buckets * 16L / 5)).isEqualTo(buckets);
    }
  }
}
