package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PoolConfigTest {
  private static void assertRefused(PoolConfig.Builder config, String field) {
    assertThatThrownBy(config::build)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(field + ": ");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, 53_687_092, Long.MAX_VALUE, Long.MIN_VALUE})
  void blocksThatNoFilterCanHoldAreRefusedByTheFieldsName(long blocks) {
    assertRefused(
        PoolConfig.builder().expectedUniqueBlocks(blocks), "expectedUniqueBlocks = " + blocks);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 4097, Integer.MAX_VALUE})
  void kicksOutOfRangeAreRefusedByTheFieldsName(int kicks) {
    assertRefused(PoolConfig.builder().maxKicks(kicks), "maxKicks = " + kicks);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
  void aThresholdThatIsNotPositiveIsRefusedByTheFieldsName(int threshold) {
    assertRefused(
        PoolConfig.builder().publicationThreshold(threshold),
        "publicationThreshold = " + threshold);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "P109573D"})
  void aDelayThatIsNotPositiveOrEndlessIsRefusedByTheFieldsName(Duration delay) {
    assertRefused(PoolConfig.builder().publicationDelay(delay), "publicationDelay = " + delay);
  }

  @Test
  void theBoundsAreAccepted() {
    PoolConfig smallest =
        PoolConfig.builder()
            .expectedUniqueBlocks(1)
            .maxKicks(1)
            .publicationThreshold(1)
            .publicationDelay(Duration.ofNanos(1))
            .build();
    PoolConfig largest =
        PoolConfig.builder()
            .expectedUniqueBlocks(53_687_091)
            .maxKicks(4096)
            .publicationThreshold(Integer.MAX_VALUE)
            .publicationDelay(Duration.ofNanos(Long.MAX_VALUE))
            .build();

    assertThat(smallest.format().bucketCount()).isEqualTo(2);
    assertThat(largest.format().bucketCount()).isEqualTo(1 << 24);
    assertThat(largest.toBuilder().build().filter()).isEqualTo(largest.filter());
  }
}
