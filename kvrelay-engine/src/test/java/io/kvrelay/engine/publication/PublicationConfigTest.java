package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.cbi1.Cbi1;
import java.time.Duration;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class PublicationConfigTest {
  private static void refused(UnaryOperator<PublicationConfig.Builder> change, String key) {
    assertThatThrownBy(() -> change.apply(PublicationConfig.builder()).build())
        .isInstanceOf(RelayException.class)
        .hasMessageContaining(key)
        .extracting(e -> ((RelayException) e).reason())
        .isEqualTo(RelayErrorReason.INVALID_CONFIGURATION);
  }

  @Test
  void theDefaultsAreTheContracts() {
    PublicationConfig config = PublicationConfig.DEFAULTS;
    assertThat(config.snapshotProgressTimeout()).isEqualTo(Duration.ofSeconds(60));
    assertThat(config.publicationQueueCapacity()).isEqualTo(16);
    assertThat(config.publicationQueueBytes()).isEqualTo(16_777_216);
    assertThat(config.publicationEncodingConcurrency()).isEqualTo(2);
    assertThat(config.maxPoolStreamsTotal()).isEqualTo(64);
    assertThat(config.maxSubscribersPerPool()).isEqualTo(64);
    assertThat(config.maxInitializedPoolHubs()).isEqualTo(64);
    assertThat(PublicationConfig.MIN_QUEUE_BYTES).isEqualTo(Cbi1.MAX_FRAME_BYTES + 256);
  }

  @Test
  void zeroLimitsAreRefusedByName() {
    refused(b -> b.publicationQueueCapacity(0), "publication_queue_capacity = 0");
    refused(b -> b.publicationQueueBytes(0), "publication_queue_bytes = 0");
    refused(b -> b.publicationEncodingConcurrency(0), "publication_encoding_concurrency = 0");
    refused(b -> b.maxPoolStreamsTotal(0), "max_pool_streams_total = 0");
    refused(b -> b.maxSubscribersPerPool(0), "max_subscribers_per_pool = 0");
    refused(b -> b.maxInitializedPoolHubs(0), "max_initialized_pool_hubs = 0");
    refused(b -> b.snapshotProgressTimeout(Duration.ZERO), "snapshot_progress_timeout_ms");
  }

  @Test
  void aQueueThatCannotHoldTheLargestFrameIsRefused() {
    refused(b -> b.publicationQueueBytes(Cbi1.MAX_FRAME_BYTES), "publication_queue_bytes");
    assertThat(
            PublicationConfig.builder()
                .publicationQueueBytes(PublicationConfig.MIN_QUEUE_BYTES)
                .build()
                .publicationQueueBytes())
        .isEqualTo(4_194_624);
  }

  @Test
  void aQueueLongerThanThePlatformAllowsIsRefused() {
    refused(
        b -> b.publicationQueueCapacity(PublicationConfig.MAX_QUEUE_CAPACITY + 1),
        "publication_queue_capacity");
    PublicationConfig.builder()
        .publicationQueueCapacity(PublicationConfig.MAX_QUEUE_CAPACITY)
        .build();
  }

  @Test
  void timersOfAYearAreAcceptedAndLongerOnesAreNot() {
    PublicationConfig.builder().snapshotProgressTimeout(Duration.ofDays(365)).build();
    refused(
        b -> b.snapshotProgressTimeout(Duration.ofDays(365).plusMillis(1)),
        "snapshot_progress_timeout_ms");
    refused(
        b -> b.snapshotProgressTimeout(Duration.ofMillis(Long.MAX_VALUE)),
        "snapshot_progress_timeout_ms");
  }

  @Test
  void variablesOverrideEachKey() {
    PublicationConfig config =
        PublicationConfig.builder()
            .environment(
                Map.of(
                    "DYN_RELAY_SNAPSHOT_PROGRESS_TIMEOUT_MS", "5",
                    "DYN_RELAY_PUBLICATION_QUEUE_CAPACITY", "7",
                    "DYN_RELAY_PUBLICATION_QUEUE_BYTES", "5000000",
                    "DYN_RELAY_PUBLICATION_ENCODING_CONCURRENCY", "3",
                    "DYN_RELAY_MAX_POOL_STREAMS_TOTAL", "9",
                    "DYN_RELAY_MAX_SUBSCRIBERS_PER_POOL", "8",
                    "DYN_RELAY_MAX_INITIALIZED_POOL_HUBS", "2",
                    "DYN_RELAY_BIND", "0.0.0.0:5561",
                    "PATH", "/bin"))
            .build();
    assertThat(config.snapshotProgressTimeout()).isEqualTo(Duration.ofMillis(5));
    assertThat(config.publicationQueueCapacity()).isEqualTo(7);
    assertThat(config.publicationQueueBytes()).isEqualTo(5_000_000);
    assertThat(config.publicationEncodingConcurrency()).isEqualTo(3);
    assertThat(config.maxPoolStreamsTotal()).isEqualTo(9);
    assertThat(config.maxSubscribersPerPool()).isEqualTo(8);
    assertThat(config.maxInitializedPoolHubs()).isEqualTo(2);
  }

  @Test
  void aVariableThatIsNoPositiveIntegerIsRefusedByItsKey() {
    for (String value : new String[] {"", "0", "-1", "x", "1.5", "18446744073709551615"}) {
      refused(
          b -> b.environment(Map.of("DYN_RELAY_SNAPSHOT_PROGRESS_TIMEOUT_MS", value)),
          "snapshot_progress_timeout_ms = \"" + value + '"');
    }
    refused(
        b -> b.environment(Map.of("DYN_RELAY_MAX_SUBSCRIBERS_PER_POOL", "2147483648")),
        "max_subscribers_per_pool");
  }

  @Test
  void aBuilderOfAConfigurationHoldsItsValues() {
    PublicationConfig changed = PublicationConfig.builder().maxSubscribersPerPool(3).build();
    PublicationConfig again = changed.toBuilder().maxPoolStreamsTotal(4).build();
    assertThat(again.maxSubscribersPerPool()).isEqualTo(3);
    assertThat(again.maxPoolStreamsTotal()).isEqualTo(4);
    assertThat(changed.maxPoolStreamsTotal()).isEqualTo(64);
  }
}
