package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.events.SourceTrust;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages captured from mock engine workers of the reference, live and replayed. */
class CapturedStreamTest {
  private final List<byte[][]> live = new ArrayList<>();
  private final List<long[]> locals = new ArrayList<>();
  private final List<long[]> sequences = new ArrayList<>();
  private final List<byte[][]> replay = new ArrayList<>();

  @BeforeEach
  void read() throws IOException {
    try (InputStream in = CapturedStreamTest.class.getResourceAsStream("captured_zmq.json");
        JsonParser json = new JsonFactory().createParser(in)) {
      byte[] sequence = {};
      for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
        String name = json.currentName();
        if (token == JsonToken.VALUE_STRING && "seq_hex".equals(name)) {
          sequence = HexFormat.of().parseHex(json.getText());
        } else if (token == JsonToken.VALUE_STRING && "payload_hex".equals(name)) {
          live.add(new byte[][] {{}, sequence, HexFormat.of().parseHex(json.getText())});
        } else if (token == JsonToken.START_ARRAY && name != null) {
          switch (name) {
            case "expect_local" -> locals.add(numbers(json));
            case "expect_sequence" -> sequences.add(numbers(json));
            case "frames_hex" -> replay.add(frames(json));
            default -> {}
          }
        }
      }
    }
  }

  private static long[] numbers(JsonParser json) throws IOException {
    return texts(json).stream().mapToLong(Long::parseUnsignedLong).toArray();
  }

  private static byte[][] frames(JsonParser json) throws IOException {
    return texts(json).stream().map(HexFormat.of()::parseHex).toArray(byte[][]::new);
  }

  private static List<String> texts(JsonParser json) throws IOException {
    List<String> texts = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_ARRAY) {
      texts.add(json.getText());
    }
    return texts;
  }

  private static StreamHarness harness(boolean withReplay) {
    return new StreamHarness(
        EngineSource.builder(
                StreamHarness.ENDPOINT,
                StreamHarness.MEMBER,
                "tcp://engine:5557",
                new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1))
            .replayAddress(withReplay ? "tcp://engine:5657" : null)
            .build());
  }

  @Test
  void liveMessagesGiveTheStatedHashes() {
    StreamHarness harness = harness(false);
    harness.stream.onConnected();
    List<Long> gotLocals = new ArrayList<>();
    for (byte[][] message : live) {
      harness.deliver(List.<byte[][]>of(message));
    }
    for (KvEvent event : harness.relay.seen()) {
      for (int i = 0; i < event.length(); i++) {
        gotLocals.add(event.localHash(i));
      }
    }
    List<Long> wantLocals = new ArrayList<>();
    List<Long> wantSequences = new ArrayList<>();
    locals.forEach(block -> Arrays.stream(block).forEach(wantLocals::add));
    sequences.forEach(block -> Arrays.stream(block).forEach(wantSequences::add));
    assertThat(live).hasSize(3);
    assertThat(wantLocals).hasSize(53);
    assertThat(gotLocals).isEqualTo(wantLocals);
    assertThat(harness.relay.sequenceHashes()).containsExactlyInAnyOrderElementsOf(wantSequences);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).contains("joined at sequence 36");
  }

  @Test
  void theReplayIsUnderstoodToItsEnd() {
    StreamHarness harness = harness(true);
    harness.stream.onConnected();
    for (byte[][] reply : replay) {
      harness.reply(reply);
    }
    assertThat(harness.count(Counter.REPLAYS_COMPLETED)).isEqualTo(1);
    assertThat(harness.count(Counter.REPLAYED_BATCHES)).isEqualTo(3);
    assertThat(harness.stream.blocks()).isPositive();
    assertThat(harness.relay.sequenceHashes()).hasSize(harness.stream.blocks());
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }
}
