package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Good payloads with some bytes changed or cut off. {@code -Dkvrelay.mutations=N} does more of
 * them.
 */
class WireMutationTest {
  private static final int MUTATIONS = Integer.getInteger("kvrelay.mutations", 30_000);

  @Test
  void mutationsOfGoodPayloadsAreTakenOrRefused() throws IOException {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    Random random = new Random(seed);
    List<byte[]> good = payloads();
    StreamHarness harness = new StreamHarness(source(2));
    try {
      for (int i = 0; i < MUTATIONS; i++) {
        take(harness, mutated(random, good.get(random.nextInt(good.size()))), i);
      }
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError("-Dkvrelay.seed=" + seed, e);
    }
    assertThat(harness.count(Refusal.NOT_MSGPACK)).isPositive();
    assertThat(harness.count(Counter.BATCHES)).isPositive();
    assertThat(harness.count(Counter.MESSAGES)).isEqualTo(MUTATIONS);
  }

  private static void take(StreamHarness harness, byte[] payload, long sequence) {
    harness.live(sequence, payload);
  }

  private static EngineSource source(int blockSize) {
    return EngineSource.builder(
            StreamHarness.ENDPOINT,
            StreamHarness.MEMBER,
            "tcp://engine:5557",
            new QuerySemantics(blockSize, QueryHashFormat.DYNAMO_STANDARD_V1))
        .rankChecked(false)
        .build();
  }

  private static byte[] mutated(Random random, byte[] good) {
    byte[] bytes = good.clone();
    for (int i = random.nextInt(4); i >= 0; i--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
    }
    return random.nextInt(8) == 0 ? Arrays.copyOf(bytes, random.nextInt(bytes.length)) : bytes;
  }

  private static List<byte[]> payloads() throws IOException {
    List<byte[]> payloads = new ArrayList<>();
    try (InputStream in = WireFuzzTest.class.getResourceAsStream("wire_vectors.json");
        JsonParser json = new JsonFactory().createParser(in)) {
      for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
        if (token == JsonToken.VALUE_STRING && json.currentName().equals("payload_hex")) {
          payloads.add(HexFormat.of().parseHex(json.getText()));
        }
      }
    }
    return payloads;
  }
}
