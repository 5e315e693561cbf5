package io.kvrelay.api.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class TransportLimitsTest {
  private static void refused(String key, UnaryOperator<TransportLimits.Builder> change) {
    assertThatThrownBy(() -> change.apply(TransportLimits.builder()).build())
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.INVALID_CONFIGURATION))
        .hasMessageStartingWith(key + " = ");
  }

  @Test
  void everyValueOutOfBoundsIsRefusedByItsKey() {
    refused("max_message_bytes", b -> b.maxMessageBytes(TransportLimits.MIN_MESSAGE_BYTES - 1));
    refused("max_message_bytes", b -> b.maxMessageBytes(4_194_368));
    refused("keepalive_interval_ms", b -> b.keepaliveInterval(Duration.ZERO));
    refused("keepalive_timeout_ms", b -> b.keepaliveTimeout(Duration.ofMillis(-1)));
    refused("pool_heartbeat_interval_ms", b -> b.poolHeartbeatInterval(Duration.ofDays(366)));
    refused("catalog_heartbeat_interval_ms", b -> b.catalogHeartbeatInterval(Duration.ZERO));
    refused(
        "readiness_heartbeat_interval_ms",
        b -> b.readinessHeartbeatInterval(Duration.ofSeconds(Long.MAX_VALUE)));
    refused("load_window_ms", b -> b.loadWindow(Duration.ZERO));
    refused("load_fanout_capacity", b -> b.loadFanoutCapacity(0));
    refused("load_fanout_capacity", b -> b.loadFanoutCapacity(65_537));
    refused("max_catalog_subscribers", b -> b.maxCatalogSubscribers(0));
    refused("max_pool_streams_total", b -> b.maxPoolStreamsTotal(0));
    refused("max_readiness_subscribers", b -> b.maxReadinessSubscribers(-1));
    refused("max_load_subscribers", b -> b.maxLoadSubscribers(0));
  }

  @Test
  void theLargestTimersAndTheSmallestMessageAreAccepted() {
    TransportLimits limits =
        TransportLimits.builder()
            .maxMessageBytes(TransportLimits.MIN_MESSAGE_BYTES)
            .loadWindow(Duration.ofDays(365))
            .loadFanoutCapacity(17)
            .build();
    assertThat(limits.loadWindow()).isEqualTo(Duration.ofDays(365));
    assertThat(limits.loadFanoutCapacity()).isEqualTo(32);
    assertThat(limits.toBuilder().loadFanoutCapacity(65_536).build().loadFanoutCapacity())
        .isEqualTo(65_536);
    assertThat(TransportLimits.DEFAULTS.maxMessageBytes()).isEqualTo(8_388_608);
  }

  @Test
  void aSubscriberIdIsCheckedForEmptinessThenLengthThenControlCharacters() {
    assertThat(ConnectOptions.subscriberIdFault("consumer-a")).isEmpty();
    assertThat(ConnectOptions.subscriberIdFault(" spaces are legal ")).isEmpty();
    assertThat(ConnectOptions.subscriberIdFault("x".repeat(128))).isEmpty();
    assertThat(ConnectOptions.subscriberIdFault("")).contains("empty");
    assertThat(ConnectOptions.subscriberIdFault("x\n".repeat(65))).contains("128");
    assertThat(ConnectOptions.subscriberIdFault("\u00fc".repeat(65))).contains("128");
    assertThat(ConnectOptions.subscriberIdFault("a\u0085b")).contains("control");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> ConnectOptions.defaults(VirtualRuntime.inOrder(1)).withSubscriberId("a\nb"))
        .withMessageContaining("subscriberId");
  }

  @Test
  void anUnknownSchemeIsAnUnavailableAddressThatNamesTheScheme() {
    assertThatThrownBy(() -> RelayTransports.forAddress(URI.create("carrier-pigeon:x")))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE))
        .hasMessageContaining("carrier-pigeon");
    assertThatThrownBy(
            () ->
                RelayTransports.connect(
                        URI.create("relative"), ConnectOptions.defaults(VirtualRuntime.inOrder(1)))
                    .toCompletableFuture()
                    .join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(RelayException.class);
  }
}
