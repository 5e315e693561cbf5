package io.kvrelay.events.zmq;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.Multimodal;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Sample payloads of every wire generation: what they say, and what a relay hears. */
class WireVectorsTest {
  private static final long DIGEST_TAIL = 154678297519343745L;
  private static final Map<String, String> PAYLOADS = read();

  private static Map<String, String> read() {
    Map<String, String> payloads = new LinkedHashMap<>();
    try (InputStream in = WireVectorsTest.class.getResourceAsStream("wire_vectors.json");
        JsonParser json = new JsonFactory().createParser(in)) {
      String name = "";
      for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
        if (token == JsonToken.VALUE_STRING && json.currentName().equals("name")) {
          name = json.getText();
        } else if (token == JsonToken.VALUE_STRING && json.currentName().equals("payload_hex")) {
          payloads.put(name, json.getText());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return payloads;
  }

  private final WireDecoder decoder = new WireDecoder(WireLimits.DEFAULT);

  private static byte[] payload(String name) {
    return HexFormat.of().parseHex(PAYLOADS.get(name));
  }

  private WireBatch decode(String name) {
    try {
      return decoder.decode(payload(name));
    } catch (WireFault fault) {
      return fail("not decoded: " + fault.getMessage());
    }
  }

  private static StreamHarness heard(String name, int blockSize) {
    return heard(name, blockSize, QueryHashFormat.DYNAMO_STANDARD_V1);
  }

  private static StreamHarness heard(String name, int blockSize, QueryHashFormat format) {
    EngineSource source =
        EngineSource.builder(
                StreamHarness.ENDPOINT,
                StreamHarness.MEMBER,
                "tcp://engine:5557",
                new QuerySemantics(blockSize, format))
            .engine(name.startsWith("sglang") ? EngineKind.SGLANG : EngineKind.VLLM)
            .rankChecked(false)
            .adapters(Map.of(3L, "ad"))
            .build();
    StreamHarness harness = new StreamHarness(source);
    harness.stream.onConnected();
    harness.live(0, payload(name));
    return harness;
  }

  private static long[] hashes(WireEvent event) {
    return Arrays.copyOf(event.hashes, event.hashCount);
  }

  private static int[] tokens(WireEvent event) {
    return Arrays.copyOf(event.tokens, event.tokenCount);
  }

  private static long[] local(int blockSize, BlockSalt salt, int... tokens) {
    BlockHasher hasher = new BlockHasher(blockSize, QueryHashFormat.DYNAMO_STANDARD_V1);
    long[] out = new long[hasher.blockCount(tokens.length)];
    hasher.localHashes(tokens, 0, tokens.length, salt, out, 0);
    return out;
  }

  private static long[] localHashes(KvEvent event) {
    return Arrays.copyOfRange(event.localHashes(), event.offset(), event.offset() + event.length());
  }

  @Test
  void everyVectorDecodesWithoutARefusal() throws WireFault {
    assertThat(PAYLOADS).hasSize(15);
    for (String name : PAYLOADS.keySet()) {
      WireBatch batch = decoder.decode(payload(name));
      for (int i = 0; i < batch.size(); i++) {
        assertThat(batch.get(i).refusal).as(name).isNull();
      }
    }
  }

  @Test
  void shortArraysOfSpring2025() {
    WireBatch batch = decode("vllm_array_2025_05");
    assertThat(batch.timestamp).isEqualTo(1.5);
    assertThat(batch.hasRank).isFalse();
    assertThat(batch.size()).isEqualTo(3);
    WireEvent store = batch.get(0);
    assertThat(store.kind).isEqualTo(WireEvent.Kind.STORED);
    assertThat(hashes(store)).containsExactly(1, 2);
    assertThat(store.hasParent).isFalse();
    assertThat(tokens(store)).containsExactly(1, 2, 3, 4);
    assertThat(store.blockSize).isEqualTo(2);
    assertThat(store.hasLoraId).isFalse();
    assertThat(store.medium).isEqualTo(Medium.UNTAGGED);
    assertThat(batch.get(1).kind).isEqualTo(WireEvent.Kind.REMOVED);
    assertThat(hashes(batch.get(1))).containsExactly(1);
    assertThat(batch.get(2).kind).isEqualTo(WireEvent.Kind.CLEARED);

    StreamHarness heard = heard("vllm_array_2025_05", 2);
    assertThat(heard.relay.seen())
        .extracting(KvEvent::kind)
        .containsExactly(KvEvent.Kind.STORED, KvEvent.Kind.REMOVED, KvEvent.Kind.CLEARED);
    assertThat(localHashes(heard.relay.seen().get(0)))
        .isEqualTo(local(2, BlockSalt.NONE, 1, 2, 3, 4));
    assertThat(heard.relay.sequenceHashes()).isEmpty();
  }

  @Test
  void arrayWithARankAndAHashAbove63Bits() {
    WireBatch batch = decode("vllm_array_dp_rank");
    assertThat(batch.hasRank).isTrue();
    assertThat(batch.rank).isEqualTo(1);
    WireEvent store = batch.get(0);
    assertThat(Long.toUnsignedString(store.hashes[0])).isEqualTo("18446744073709551361");
    assertThat(store.hasParent).isTrue();
    assertThat(store.parent).isEqualTo(7);
    assertThat(store.medium).isEqualTo(Medium.GPU);
    assertThat(store.hasGroup).isFalse();
    // Its parent was never announced here.
    assertThat(heard("vllm_array_dp_rank", 2).count(Counter.UNKNOWN_PARENT_BLOCKS)).isEqualTo(1);
  }

  @Test
  void arrayWithEveryField() {
    WireBatch batch = decode("vllm_array_full");
    WireEvent store = batch.get(0);
    assertThat(hashes(store)).containsExactly(11, 12);
    assertThat(store.parent).isEqualTo(10);
    assertThat(store.loraId).isEqualTo(3);
    assertThat(store.medium).isEqualTo(Medium.CPU);
    assertThat(new String(batch.payload(), store.loraNameFrom, store.loraNameLength, UTF_8))
        .isEqualTo("ad");
    assertThat(store.extraKeys.blocks()).isEqualTo(2);
    assertThat(store.extraKeys.kind(0)).isEqualTo(TextSpans.TEXT);
    assertThat(store.extraKeys.kind(1)).isEqualTo(TextSpans.TEXT_WITH_NUMBER);
    assertThat(store.extraKeys.number(1)).isEqualTo(-1);
    assertThat(store.extraKeys.first(1)).isEqualTo(store.extraKeys.end(1));
    assertThat(store.group).isEqualTo(1);
    assertThat(store.attention).isEqualTo(AttentionKind.SLIDING_WINDOW);
    WireEvent removal = batch.get(1);
    assertThat(removal.medium).isEqualTo(Medium.GPU);
    assertThat(removal.group).isEqualTo(1);

    StreamHarness heard = heard("vllm_array_full", 2);
    assertThat(heard.count(Counter.FILTERED_KIND)).isEqualTo(1);
    assertThat(heard.count(Counter.FILTERED_GROUP)).isEqualTo(1);
    assertThat(heard.relay.seen()).isEmpty();
  }

  @Test
  void trailingDefaultsComeAsNil() {
    WireEvent store = decode("vllm_array_trailing_gap").get(0);
    assertThat(store.hasGroup).isTrue();
    assertThat(store.group).isZero();
    assertThat(store.attention).isEqualTo(AttentionKind.ABSENT);
    assertThat(store.extraKeys.isEmpty()).isTrue();
  }

  @Test
  void oneDigestAsBytesAndAsANumberIsOneHash() {
    WireBatch bytes = decode("vllm_map_bytes_hash");
    assertThat(bytes.get(0).hashes[0]).isEqualTo(DIGEST_TAIL);
    assertThat(bytes.get(1).hashes[0]).isEqualTo(DIGEST_TAIL);
    assertThat(bytes.get(0).attention).isEqualTo(AttentionKind.FULL_ATTENTION);
    assertThat(bytes.get(2).kind).isEqualTo(WireEvent.Kind.CLEARED);
    WireBatch numbers = decode("vllm_map_int_hash");
    assertThat(numbers.get(0).hashes[0]).isEqualTo(DIGEST_TAIL);

    StreamHarness heard = heard("vllm_map_int_hash", 2);
    assertThat(heard.relay.sequenceHashes()).containsExactly(local(2, BlockSalt.NONE, 1, 2)[0]);
  }

  @Test
  void aTokenlessStoreOfNothingKnownIsDroppedAndCounted() {
    WireEvent store = decode("vllm_map_offload_tokenless").get(0);
    assertThat(store.hashes[0]).isEqualTo(DIGEST_TAIL);
    assertThat(store.tokenCount).isZero();
    assertThat(store.blockSize).isZero();
    assertThat(store.medium.tier()).isEqualTo(StorageTier.HOST_PINNED);
    StreamHarness heard = heard("vllm_map_offload_tokenless", 2);
    assertThat(heard.count(Counter.TOKENLESS_DROPPED)).isEqualTo(1);
    assertThat(heard.relay.seen()).isEmpty();
  }

  @Test
  void aMambaGroupIsFiltered() {
    WireEvent store = decode("vllm_map_sparse_mamba").get(0);
    assertThat(store.attention).isEqualTo(AttentionKind.MAMBA);
    assertThat(store.tokenCount).isEqualTo(8);
    assertThat(store.hashCount).isEqualTo(1);
    assertThat(heard("vllm_map_sparse_mamba", 2).count(Counter.FILTERED_KIND)).isEqualTo(1);
  }

  @Test
  void aHeartbeatIsABatchOfNothing() {
    WireBatch batch = decode("vllm_map_empty_heartbeat");
    assertThat(batch.size()).isZero();
    assertThat(batch.rank).isEqualTo(2);
    StreamHarness heard = heard("vllm_map_empty_heartbeat", 2);
    assertThat(heard.count(Counter.EMPTY_BATCHES)).isEqualTo(1);
    assertThat(heard.relay.seen()).isEmpty();
  }

  @Test
  void signedHashesAreTakenBitForBit() {
    WireBatch batch = decode("sglang_array_signed");
    assertThat(batch.rank).isEqualTo(3);
    assertThat(batch.get(0).hashes[0]).isEqualTo(-5);
    StreamHarness heard = heard("sglang_array_signed", 2);
    assertThat(heard.relay.seen().get(0).engineHash(0)).isEqualTo(-5);
    assertThat(heard.relay.seen().get(1).kind()).isEqualTo(KvEvent.Kind.REMOVED);
    assertThat(heard.relay.sequenceHashes()).isEmpty();
  }

  @Test
  void sglangsMediaAreLowerTiers() {
    WireBatch batch = decode("sglang_array_medium");
    assertThat(batch.get(0).medium).isEqualTo(Medium.CPU_PINNED);
    assertThat(batch.get(0).parent).isEqualTo(-6);
    assertThat(batch.get(1).medium).isEqualTo(Medium.GPU);
    assertThat(heard("sglang_array_medium", 2).relay.sequenceHashes()).isEmpty();
  }

  @Test
  void pairsOfTokensAreAnEagleWindow() {
    WireEvent store = decode("sglang_array_bigram").get(0);
    assertThat(store.pairs).isTrue();
    assertThat(tokens(store)).containsExactly(1, 2, 3);
    assertThat(store.wireTokens()).isEqualTo(2);

    StreamHarness eagle = heard("sglang_array_bigram", 2, QueryHashFormat.DYNAMO_EAGLE_V1);
    BlockHasher hasher = new BlockHasher(2, QueryHashFormat.DYNAMO_EAGLE_V1);
    assertThat(eagle.relay.sequenceHashes())
        .containsExactly(hasher.sequenceHashes(new int[] {1, 2, 3}, BlockSalt.NONE)[0]);

    StreamHarness standard = heard("sglang_array_bigram", 2);
    assertThat(standard.count(Refusal.HASH_FORMAT)).isEqualTo(1);
    assertThat(standard.reason).contains("pairs of tokens");
  }

  @Test
  void sglangsSaltIsANamespaceInEitherForm() {
    long salted = local(2, BlockSalt.of(null, "tenant-a"), 1, 2)[0];
    assertThat(heard("sglang_array_metadata", 2).relay.sequenceHashes()).containsExactly(salted);
    assertThat(heard("sglang_map_metadata", 2).relay.sequenceHashes()).containsExactly(salted);
  }

  @Test
  void tensorRtsTextTokensTakeThePadValueOfTheirKey() {
    WireEvent store = decode("trtllm_map").get(0);
    assertThat(store.textTokenCount).isEqualTo(1);
    assertThat(store.textTokens[0]).isEqualTo(1);
    assertThat(store.objectKeys.blocks()).isEqualTo(1);

    StreamHarness heard = heard("trtllm_map", 4);
    int pad = Multimodal.padValue(Long.parseUnsignedLong("abababababababab", 16));
    assertThat(heard.relay.sequenceHashes())
        .containsExactly(local(4, BlockSalt.NONE, 1, pad, 3, 4)[0]);
    assertThat(heard.count(Counter.STRING_TOKENS)).isEqualTo(1);
  }
}
