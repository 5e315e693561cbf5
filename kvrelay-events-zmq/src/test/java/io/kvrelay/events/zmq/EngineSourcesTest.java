package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Plans of ports and topics, before anything is connected. */
class EngineSourcesTest {
  private static EngineSource.Builder source(int worker, String address) {
    return EngineSource.builder(
        StreamHarness.ENDPOINT,
        new Member(worker, 0),
        address,
        new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1));
  }

  @Test
  void ranksStandOnConsecutivePorts() {
    EngineSource zero =
        source(3, "tcp://10.0.0.1:5557")
            .replayAddress("tcp://10.0.0.1:5657")
            .engine(EngineKind.TRTLLM)
            .cacheNamespace("team")
            .build();
    List<EngineSource> ranks = EngineSources.ofRanks(zero, 3);
    assertThat(ranks)
        .extracting(EngineSource::address)
        .containsExactly("tcp://10.0.0.1:5557", "tcp://10.0.0.1:5558", "tcp://10.0.0.1:5559");
    assertThat(ranks)
        .extracting(EngineSource::replayAddress)
        .containsExactly("tcp://10.0.0.1:5657", "tcp://10.0.0.1:5658", "tcp://10.0.0.1:5659");
    assertThat(ranks)
        .extracting(EngineSource::member)
        .containsExactly(new Member(3, 0), new Member(3, 1), new Member(3, 2));
    assertThat(ranks.get(0)).isEqualTo(zero).hasSameHashCodeAs(zero);
    assertThat(ranks.get(2).cacheNamespace()).isEqualTo("team");
    assertThat(EngineSources.ofRanks(source(3, "inproc://kv").build(), 2).get(1).address())
        .isEqualTo("inproc://kv_dp1");
  }

  @Test
  void publishersAndReplaySocketsMustNotMeet() {
    EngineSource zero =
        source(3, "tcp://10.0.0.1:5557").replayAddress("tcp://10.0.0.1:5558").build();
    assertThat(EngineSources.ofRanks(zero, 1)).hasSize(1);
    assertThatThrownBy(() -> EngineSources.ofRanks(zero, 2))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "replayAddress = \"tcp://10.0.0.1:5558\", ranks = 2: tcp://10.0.0.1:5558 is the"
                + " publisher of rank 1 and the replay socket of rank 0");
  }

  @Test
  void anIpcAddressHasNoFurtherRanks() {
    assertThatThrownBy(() -> EngineSources.ofRanks(source(1, "ipc:///tmp/kv").build(), 2))
        .hasMessage("address = \"ipc:///tmp/kv\": an ipc address has no rank 1");
    assertThatThrownBy(() -> EngineSources.ofRanks(source(1, "tcp://h:65535").build(), 2))
        .hasMessageContaining("rank 1 would have port 65536");
    assertThatThrownBy(() -> EngineSources.ofRanks(source(1, "tcp://h:1").build(), 0))
        .hasMessage("ranks = 0: must be positive");
  }

  @Test
  void sourcesThatExcludeEachOtherAreBothNamed() {
    EngineSource one = source(1, "tcp://h:5557").build();
    refused("are one rank", one, source(1, "tcp://h:5558").build());
    refused("read one stream", one, source(2, "tcp://h:5557").build());
    refused("takes every topic", one, source(2, "tcp://h:5557").topic("a").build());
    refused(
        "only one of them binds",
        source(1, "tcp://h:5557").topic("b").build(),
        source(2, "tcp://h:5557").topic("a").bind(true).build());
    refused(
        "to publish and to replay",
        one,
        source(2, "tcp://h:5558").replayAddress("tcp://h:5557").build());
    refused(
        "replay from one address",
        source(1, "tcp://h:5558").replayAddress("tcp://h:5559").build(),
        source(2, "tcp://h:5557").replayAddress("tcp://h:5559").build());
    EngineSources.check(
        List.of(
            source(1, "tcp://h:5557").topic("a").build(),
            source(2, "tcp://h:5557").topic("b").build()));
  }

  private static void refused(String why, EngineSource one, EngineSource two) {
    assertThatThrownBy(() -> EngineSources.check(List.of(one, two)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(why)
        .hasMessageContaining(one.toString())
        .hasMessageContaining(two.toString());
  }

  @Test
  void valuesThatAreNotAcceptableAreNamed() {
    assertThatThrownBy(() -> source(1, "udp://h:1").build())
        .hasMessageContaining("address = \"udp://h:1\"");
    assertThatThrownBy(() -> source(1, "tcp://h:0").build()).hasMessageContaining("1..65535");
    assertThatThrownBy(() -> source(1, "ipc://").build()).hasMessageContaining("name is missing");
    assertThatThrownBy(() -> source(1, "tcp://h:1").replayAddress("tcp://h:1").build())
        .hasMessageContaining("replayAddress = tcp://h:1");
    assertThatThrownBy(() -> source(1, "tcp://h:1").placeholderTokens(-2, 0).build())
        .hasMessageContaining("imageToken = -2");
    assertThatThrownBy(() -> source(1, "tcp://h:1").maxBlocks(0).build())
        .hasMessageContaining("maxBlocks = 0");
    assertThatThrownBy(() -> source(1, "tcp://h:1").historyEvents(-1).build())
        .hasMessageContaining("historyEvents = -1");
    assertThatThrownBy(() -> source(1, "tcp://h:1").heldBatches(0).build())
        .hasMessageContaining("heldBatches = 0");
    assertThatThrownBy(() -> ZmqOptions.builder().concurrentReplays(0).build())
        .hasMessageContaining("concurrentReplays = 0");
    assertThat(EngineKind.ofName("sglang")).isEqualTo(EngineKind.SGLANG);
    assertThat(EngineKind.ofName("other")).isNull();
  }
}
