package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class RecordsTest {
  private static final EndpointId SERVING = EndpointId.parse("dynamo.backend.generate");

  private static DiscoveryRecord parse(String path, String json) throws MalformedException {
    return RecordParser.parse(RecordKey.parse(path), json.getBytes(StandardCharsets.UTF_8));
  }

  private static ModelCard card(String cardJson) throws MalformedException {
    return ((DiscoveryRecord.Card) parse("v1/mdc/n/c/e/1", cardRecord(cardJson))).card();
  }

  private static String cardRecord(String cardJson) {
    return "{\"type\":\"Model\",\"namespace\":\"n\",\"component\":\"c\",\"endpoint\":\"e\","
        + "\"instance_id\":1,\"card_json\":"
        + cardJson
        + "}";
  }

  private static String minimal(String more) {
    return "{\"display_name\":\"m\",\"kv_cache_block_size\":16,\"model_type\":\"Chat\""
        + more
        + "}";
  }

  @Test
  void aWholeRecordedStoreIsUnderstood() throws Exception {
    DeploymentState state = new DeploymentState();

    assertThat(state.update(Recorded.records())).isTrue();

    assertThat(state.refused()).isEmpty();
    assertThat(state.cards()).hasSize(1);
    ModelCard card = state.cards().get(0);
    assertThat(card.endpoint()).isEqualTo(SERVING);
    assertThat(card.workerId()).isEqualTo(Recorded.WORKER);
    assertThat(card.modelName()).isEqualTo("tiny");
    assertThat(card.sourcePath()).isEqualTo("/models/tiny");
    assertThat(card.kvBlockSize()).isEqualTo(16);
    assertThat(card.hashFormat()).isEqualTo(QueryHashFormat.DYNAMO_STANDARD_V1);
    assertThat(card.role()).isEqualTo(WorkerRole.AGGREGATED);
    assertThat(card.modelTypes()).containsExactlyInAnyOrder("chat", "completions");
    assertThat(card.runtime().totalKvBlocks()).hasValue(96);
    assertThat(card.runtime().dataParallelSize()).isEqualTo(1);
    assertThat(card.runtime().attributes().get("runtime_config")).contains("\"max_num_seqs\":256");
    assertThat(state.liveWorkers()).isEqualTo(Map.of(SERVING, java.util.Set.of(Recorded.WORKER)));
    assertThat(state.channels())
        .extracting(DiscoveryRecord.Channel::topic)
        .containsExactlyInAnyOrder(Topic.KV_EVENTS, Topic.KV_METRICS);
    assertThat(state.eventSources()).hasSize(1);
    assertThat(state.eventSources().get(0).member()).isEqualTo(new Member(Recorded.WORKER, 0));
    assertThat(state.eventSources().get(0).recoveryTarget())
        .isEqualTo(
            "msgpack 127.0.0.1:38137/5c2756c8af728392/dynamo/backend/"
                + "worker_kv_query_source_1489907c652bec");
  }

  @Test
  void keysFollowFromRecordsAndBack() throws Exception {
    assertThat(Segments.decode("a%2Db%5Fc%2Fd%252Ee")).isEqualTo("a-b_c/d%2Ee");
    assertThat(Segments.encode("a.b-c_d é/")).isEqualTo("a%2Eb-c_d%20%C3%A9%2F");
    assertThat(Segments.encodeFileName("a-b_c/d.e")).isEqualTo("a%2Db%5Fc%2Fd%2Ee");
    for (String bad : List.of("%", "%2", "%zz", "%FF")) {
      assertThatThrownBy(() -> Segments.decode(bad)).isInstanceOf(MalformedException.class);
    }
    DiscoveryRecord dotted =
        parse(
            "v1/event_channels/namespace/a%2Eb/component/c/endpoint/e/topic/kv-events/f",
            "{\"type\":\"EventChannel\",\"scope\":{\"kind\":\"endpoint\",\"endpoint\":{"
                + "\"namespace\":\"a.b\",\"component\":\"c\",\"name\":\"e\"}},\"topic\":"
                + "\"kv-events\",\"instance_id\":15,\"transport\":{\"kind\":\"Zmq\",\"config\":"
                + "{\"endpoint\":\"tcp://h:1\"}}}");
    assertThat(dotted).isInstanceOf(DiscoveryRecord.Channel.class);
    assertThat(((DiscoveryRecord.Channel) dotted).endpoint().namespace()).isEqualTo("a.b");
  }

  @Test
  void aRecordUnderAnotherKeyThanItsOwnIsRefused() {
    String record = cardRecord(minimal(""));

    assertThatThrownBy(() -> parse("v1/mdc/n/c/e/2", record))
        .hasMessageContaining("belongs under v1/mdc/n/c/e/1");
    assertThatThrownBy(() -> parse("v1/mdc/n/c/e/1/suffix", record))
        .isInstanceOf(MalformedException.class);
    assertThatThrownBy(() -> parse("v1/instances/n/c/e/1", record))
        .hasMessageContaining("type = Model");
  }

  @Test
  void idsBeyondASignedLongAreExact() throws Exception {
    long worker = Long.parseUnsignedLong("15552025308339077319");
    DiscoveryRecord record =
        parse(
            "v1/instances/n/c/e/" + Long.toHexString(worker),
            "{\"type\":\"Endpoint\",\"namespace\":\"n\",\"component\":\"c\",\"endpoint\":\"e\","
                + "\"instance_id\":15552025308339077319,\"transport\":{\"tcp\":\"h:1/p\"}}");

    assertThat(record).isEqualTo(new DiscoveryRecord.Instance(EndpointId.parse("n.c.e"), worker));
  }

  @Test
  void numbersThatAreNoUnsignedNumbersAreRefused() {
    for (String bad : List.of("-1", "18446744073709551616", "1.0", "1e3", "\"1\"", "null")) {
      assertThatThrownBy(
              () ->
                  parse(
                      "v1/instances/n/c/e/1",
                      "{\"type\":\"Endpoint\",\"namespace\":\"n\",\"component\":\"c\","
                          + "\"endpoint\":\"e\",\"instance_id\":"
                          + bad
                          + "}"))
          .as(bad)
          .isInstanceOf(MalformedException.class)
          .hasMessageContaining("instance_id");
    }
    assertThatThrownBy(
            () -> card(minimal(",\"runtime_config\":{\"data_parallel_size\":4294967296}")))
        .hasMessageContaining("data_parallel_size = 4294967296");
  }

  @Test
  void aCardsFieldsArriveWhereTheyCount() throws Exception {
    ModelCard card =
        card(
            minimal(
                ",\"worker_type\":\"prefill\",\"needs\":[[\"decode\",\"encode\"],[\"aggregated\"]],"
                    + "\"aliases\":[\"x\"],\"lora\":{\"name\":\"r\",\"max_gpu_lora_count\":4},"
                    + "\"indexer_identity\":{\"semantics\":{\"a\":\"b\"},\"routing_scope\":{\"c\":"
                    + "\"d\"}},\"runtime_config\":{\"enable_eagle\":true,\"data_parallel_size\":2,"
                    + "\"data_parallel_start_rank\":3,\"total_kv_blocks\":null,\"taints\":[\"t\"],"
                    + "\"kv_state_endpoint\":{\"namespace\":\"n\",\"component\":\"c\",\"name\":"
                    + "\"kv\"}},\"future\":[null,{\"x\":1.5}]"));

    assertThat(card.role()).isEqualTo(WorkerRole.PREFILL);
    assertThat(card.needs())
        .isEqualTo(
            List.of(List.of(WorkerRole.DECODE, WorkerRole.ENCODE), List.of(WorkerRole.AGGREGATED)));
    assertThat(card.aliases()).containsExactly("x");
    assertThat(card.lora()).isEqualTo(new ModelCard.Lora("r", OptionalInt.of(4)));
    assertThat(card.explicitSemantics()).isEqualTo(Map.of("a", "b"));
    assertThat(card.explicitScope()).isEqualTo(Map.of("c", "d"));
    assertThat(card.hashFormat()).isEqualTo(QueryHashFormat.DYNAMO_EAGLE_V1);
    assertThat(card.sourcePath()).isEqualTo("m");
    assertThat(card.runtime().dataParallelStartRank()).isEqualTo(3);
    assertThat(card.runtime().totalKvBlocks()).isEmpty();
    assertThat(card.runtime().taints()).containsExactly("t");
    assertThat(card.runtime().kvStateEndpoint()).isEqualTo(EndpointId.parse("n.c.kv"));
  }

  @Test
  void anyDifferenceOfTheRuntimeConfigurationShowsButTheOrderOfItsFields() throws Exception {
    ModelCard one = card(minimal(",\"runtime_config\":{\"a\":1,\"b\":{\"c\":[2]}}"));
    ModelCard same = card(minimal(",\"runtime_config\":{\"b\":{\"c\":[2]},\"a\":1}"));
    ModelCard other = card(minimal(",\"runtime_config\":{\"a\":1,\"b\":{\"c\":[3]}}"));

    assertThat(same).isEqualTo(one);
    assertThat(other).isNotEqualTo(one);
  }

  @Test
  void aCardThatCannotBeReadIsRefusedWithTheFieldAndTheValue() {
    Map<String, String> bad =
        Map.of(
            "{",
            "no JSON",
            "{\"display_name\":\"m\",\"model_type\":\"\"}",
            "kv_cache_block_size is missing",
            minimal(",\"worker_type\":\"painter\""),
            "worker_type = painter",
            minimal(",\"needs\":[\"decode\"]"),
            "needs = decode",
            minimal(",\"aliases\":[1]"),
            "aliases = 1",
            minimal(",\"lora\":{}"),
            "lora.name is missing",
            minimal(",\"indexer_identity\":{\"semantics\":{\"a\":\"b\",\"a\":\"b\"}}"),
            "Duplicate",
            minimal(",\"kv_cache_block_size\":16"),
            "Duplicate",
            minimal(",\"runtime_config\":{\"enable_eagle\":1}"),
            "enable_eagle = 1");
    bad.forEach(
        (json, message) ->
            assertThatThrownBy(() -> card(json))
                .as(json)
                .isInstanceOf(MalformedException.class)
                .hasMessageContaining(message));
  }

  @Test
  void deepNestingIsRefused() {
    String deep = "[".repeat(5000) + "]".repeat(5000);

    assertThatThrownBy(() -> card(minimal(",\"future\":" + deep))).hasMessageContaining("no JSON");
  }

  @Test
  void aSourceThatContradictsItselfIsRefused() throws Exception {
    String key = "v1/event_sources/namespace/n/component/c/endpoint/e/topic/kv-events/7";
    String target = ",\"recovery_target\":{\"transport\":{\"tcp\":\"tcp://[::1]:9/a/b%2F\"}}";

    DiscoveryRecord.Source good = (DiscoveryRecord.Source) parse(key, source("e", 7, target));
    assertThat(good.target())
        .isEqualTo(new RecoveryTarget("::1", 9, "a/b%2F", RecoveryTarget.Codec.JSON));
    assertThat(RecoveryTarget.ofText(good.target().toText())).isEqualTo(good.target());
    assertThat(((DiscoveryRecord.Source) parse(key, source("e", 7, ""))).target()).isNull();
    assertThatThrownBy(() -> parse(key, source("other", 7, target)))
        .hasMessageContaining("kv_state_endpoint");
    assertThatThrownBy(() -> parse(key, source("e", 8, target)))
        .hasMessageContaining("publisher_id = 8");
    assertThatThrownBy(
            () ->
                parse(
                    key,
                    source("e", 7, ",\"recovery_target\":{\"transport\":{\"nats_tcp\":\"x\"}}")))
        .hasMessageContaining("only tcp");
    for (String bad : List.of("h", "h/p", "h:0/p", "h:x/p", "h:1", "h:1/", ":1/p", "h:65536/p")) {
      assertThatThrownBy(() -> RecoveryTarget.parse(bad, RecoveryTarget.Codec.JSON))
          .as(bad)
          .hasMessageContaining("transport.tcp = " + bad);
    }
  }

  static String source(String stateEndpoint, long publisher, String more) {
    return "{\"type\":\"EventSource\",\"scope\":{\"kind\":\"endpoint\",\"endpoint\":{\"namespace\":"
        + "\"n\",\"component\":\"c\",\"name\":\"e\"}},\"topic\":\"kv-events\",\"publisher_id\":7,"
        + "\"metadata\":{\"kv_state_endpoint\":{\"namespace\":\"n\",\"component\":\"c\",\"name\":\""
        + stateEndpoint
        + "\"},\"worker\":{\"worker_id\":1,\"dp_rank\":0},\"publisher_id\":"
        + publisher
        + more
        + "}}";
  }

  @Test
  void otherTopicsAndWiderScopesAreOfNoInterest() throws Exception {
    assertThat(
            parse(
                "v1/event_channels/namespace/n/topic/kv-events/7",
                "{\"type\":\"EventChannel\",\"scope\":{\"kind\":\"namespace\",\"name\":\"n\"},"
                    + "\"topic\":\"kv-events\",\"instance_id\":7,\"transport\":{}}"))
        .isEqualTo(DiscoveryRecord.Other.IRRELEVANT);
    assertThat(
            parse(
                "v1/event_channels/namespace/n/component/c/topic/other%2Etopic/7",
                "{\"type\":\"EventChannel\",\"scope\":{\"kind\":\"component\",\"namespace\":\"n\","
                    + "\"component\":\"c\"},\"topic\":\"other.topic\",\"instance_id\":7}"))
        .isEqualTo(DiscoveryRecord.Other.IRRELEVANT);
  }

  @Test
  void aKeyTellsItsNamespace() {
    assertThat(RecordKey.parse("v1/mdc/n/c/e/1").namespace()).isEqualTo("n");
    assertThat(RecordKey.parse("v1/event_sources/namespace/a%2Eb/topic/t/1").namespace())
        .isEqualTo("a.b");
    assertThat(RecordKey.parse("v1/event_sources/strange").namespace()).isNull();
    assertThat(RecordKey.parse("v1/other/n/c/e/1")).isNull();
  }
}
