package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DeploymentStateTest {
  private static final EndpointId SERVING = EndpointId.parse("n.c.e");
  private static final String CARD = "v1/mdc/n/c/e/1";
  private static final String SOURCE =
      "v1/event_sources/namespace/n/component/c/endpoint/e/topic/kv-events/7";
  private static final String CHANNEL =
      "v1/event_channels/namespace/n/component/c/endpoint/e/topic/kv-events/7";

  private final DeploymentState state = new DeploymentState();
  private final Map<RecordKey, byte[]> store = new HashMap<>();

  private void put(String path, String json) {
    store.put(RecordKey.parse(path), json.getBytes(StandardCharsets.UTF_8));
  }

  private void remove(String path) {
    store.remove(RecordKey.parse(path));
  }

  private boolean update() {
    return state.update(new HashMap<>(store));
  }

  private static String card(String name, String runtime) {
    return "{\"type\":\"Model\",\"namespace\":\"n\",\"component\":\"c\",\"endpoint\":\"e\","
        + "\"instance_id\":1,\"card_json\":{\"display_name\":\""
        + name
        + "\",\"kv_cache_block_size\":16,\"model_type\":\"Chat\",\"runtime_config\":{"
        + runtime
        + "}}}";
  }

  private static String instance(String endpoint) {
    return "{\"type\":\"Endpoint\",\"namespace\":\"n\",\"component\":\"c\",\"endpoint\":\""
        + endpoint
        + "\",\"instance_id\":1,\"transport\":{\"tcp\":\"h:1/p\"}}";
  }

  private static String channel(String transport) {
    return "{\"type\":\"EventChannel\",\"scope\":{\"kind\":\"endpoint\",\"endpoint\":{\"namespace\":"
               + "\"n\",\"component\":\"c\",\"name\":\"e\"}},\"topic\":\"kv-events\",\"instance_id\":7,"
               + "\"transport\":"
        + transport
        + "}";
  }

  @Test
  void theSameContentChangesNothing() {
    put(CARD, card("m", ""));

    assertThat(update()).isTrue();
    assertThat(update()).isFalse();
  }

  @Test
  void onlyTaintsOfACardMayChange() {
    put(CARD, card("m", ""));
    update();
    put(CARD, card("m", "\"taints\":[\"slow\"]"));
    update();

    assertThat(state.cards().get(0).runtime().taints()).containsExactly("slow");
    assertThat(state.refused()).isEmpty();

    put(CARD, card("other", ""));
    update();

    assertThat(state.cards().get(0).modelName()).isEqualTo("m");
    assertThat(state.refused().get(RecordKey.parse(CARD)).detail()).contains("first value stands");
    assertThat(state.forbiddenChanges()).isEqualTo(1);
  }

  @Test
  void aKeyThatWentAndCameBackMaySayAnythingAnew() {
    put(CARD, card("m", ""));
    update();
    remove(CARD);
    update();
    put(CARD, card("other", ""));
    update();

    assertThat(state.cards().get(0).modelName()).isEqualTo("other");
    assertThat(state.refused()).isEmpty();
  }

  @Test
  void anUnreadableRecordIsNamedAndKeepsTheLastGoodValueOfItsKey() {
    put(CARD, "{");
    put("v1/mdc/n/c/e/2", card("m", "")); // under a wrong key
    update();

    assertThat(state.cards()).isEmpty();
    assertThat(state.refused()).hasSize(2);
    assertThat(state.malformed()).isEqualTo(2);

    put(CARD, card("m", ""));
    update();
    put(CARD, "{");
    update();
    update();

    assertThat(state.cards()).hasSize(1);
    assertThat(state.refused()).hasSize(2);
    assertThat(state.malformed()).isEqualTo(3);
  }

  @Test
  void anEndpointWithoutInstancesIsUnknownUntilOneWasSeen() {
    put(CARD, card("m", ""));
    update();
    assertThat(state.liveWorkers()).isEmpty();

    put("v1/instances/n/c/e/1", instance("e"));
    update();
    assertThat(state.liveWorkers()).isEqualTo(Map.of(SERVING, Set.of(1L)));

    remove("v1/instances/n/c/e/1");
    update();
    assertThat(state.liveWorkers()).isEqualTo(Map.of(SERVING, Set.of()));

    state.forgetLiveness();
    assertThat(state.liveWorkers()).isEmpty();
  }

  @Test
  void anEndpointThatNobodyServesIsForgotten() {
    put(CARD, card("m", ""));
    put("v1/instances/n/c/e/1", instance("e"));
    update();
    store.clear();
    update();
    put(CARD, card("m", ""));
    update();

    assertThat(state.liveWorkers()).isEmpty();
  }

  @Test
  void queryEndpointsAreNoWorkers() {
    put(CARD, card("m", ""));
    put("v1/instances/n/c/e/1", instance("e"));
    put("v1/instances/n/c/worker_kv_query_source_7/1", instance("worker_kv_query_source_7"));
    update();

    assertThat(state.liveWorkers().keySet()).containsExactly(SERVING);
    assertThat(state.refused()).isEmpty();
  }

  @Test
  void theOrderOfArrivalDoesNotMatter() {
    put(SOURCE, RecordsTest.source("e", 7, ""));
    update();
    put(CARD, card("m", ""));
    update();
    put(CHANNEL, channel("{\"kind\":\"Zmq\",\"config\":{\"endpoint\":\"tcp://h:1\"}}"));
    update();
    DeploymentState atOnce = new DeploymentState();
    atOnce.update(store);

    assertThat(state.cards()).isEqualTo(atOnce.cards()).hasSize(1);
    assertThat(state.eventSources()).isEqualTo(atOnce.eventSources()).hasSize(1);
    assertThat(state.eventSources().get(0).liveAddress()).isEqualTo("tcp://h:1");
    assertThat(state.eventSources().get(0).member()).isEqualTo(new Member(1, 0));
    assertThat(state.channels()).isEqualTo(atOnce.channels());
  }

  @Test
  void aSourceKeepsItsFirstDescription() {
    put(SOURCE, RecordsTest.source("e", 7, ""));
    update();
    put(
        SOURCE,
        RecordsTest.source("e", 7, ",\"recovery_target\":{\"transport\":{\"tcp\":\"h:1/p\"}}"));
    update();

    assertThat(state.eventSources().get(0).recoveryTarget()).isNull();
    assertThat(state.forbiddenChanges()).isEqualTo(1);
  }

  @Test
  void aChannelOfAnotherKindIsNamed() {
    put(CHANNEL, channel("{\"kind\":\"Nats\",\"config\":{\"subject_prefix\":\"x\"}}"));
    update();

    assertThat(state.refused().get(RecordKey.parse(CHANNEL)).detail()).contains("Nats");
    assertThat(state.malformed()).isZero();
  }
}
