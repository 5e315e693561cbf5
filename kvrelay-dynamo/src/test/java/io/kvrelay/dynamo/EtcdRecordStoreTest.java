package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.runtime.SystemRuntime;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EtcdRecordStoreTest {
  private static final String ONE = "v1/mdc/n/c/e/1";
  private static final String TWO = "v1/event_sources/namespace/n/topic/kv-events/2";

  private final SystemRuntime runtime = SystemRuntime.create(2);
  private final StoreProbe probe = new StoreProbe();
  private FakeEtcd etcd;
  private EtcdRecordStore store;

  @BeforeEach
  void open() throws Exception {
    etcd = new FakeEtcd();
  }

  @AfterEach
  void close() {
    if (store != null) {
      store.close();
    }
    etcd.close();
    runtime.close();
  }

  private void start(EtcdAccess access) {
    store = new EtcdRecordStore(runtime, access);
    store.start(probe);
  }

  /** The store opens its watches after it has reported a listing. */
  private void awaitWatches() {
    while (etcd.watches() < 4) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aListingIsFollowedByItsChanges() throws Exception {
    etcd.putSilently(ONE, "{}");
    etcd.putSilently("v1/other/key", "{}");
    start(etcd.access());
    probe.awaitContent(Map.of(ONE, "{}"));
    awaitWatches();
    etcd.put(TWO, "{\"a\":1}");
    probe.awaitContent(Map.of(ONE, "{}", TWO, "{\"a\":1}"));
    etcd.put(ONE, "{\"b\":2}");
    probe.awaitContent(Map.of(ONE, "{\"b\":2}", TWO, "{\"a\":1}"));
    etcd.delete(ONE);
    probe.awaitContent(Map.of(TWO, "{\"a\":1}"));
    etcd.delete(TWO);
    probe.awaitContent(Map.of());

    assertThat(probe.lostAnything()).isFalse();
    assertThat(etcd.listings()).isEqualTo(1);
  }

  @Test
  void aBrokenWatchIsFollowedByAFreshListing() throws Exception {
    etcd.putSilently(ONE, "{}");
    start(etcd.access());
    probe.awaitContent(Map.of(ONE, "{}"));
    awaitWatches();
    etcd.putSilently(TWO, "{}");
    etcd.cutWatches();

    probe.awaitContent(Map.of(ONE, "{}", TWO, "{}"));
    assertThat(probe.lostAnything()).isFalse();
  }

  @Test
  void aWatchThatIsCancelledOrCannotBeUnderstoodIsBroken() throws Exception {
    start(etcd.access());
    probe.awaitContent(Map.of());
    int listings = 1;
    for (String message :
        List.of(
            "{\"result\":{\"canceled\":true,\"compact_revision\":\"99\"}}",
            "{\"error\":{\"grpc_code\":14,\"message\":\"x\"}}",
            "{",
            "{\"result\":{\"events\":[{\"kv\":{\"key\":\"%\"}}]}}")) {
      awaitWatches();
      etcd.putSilently(ONE, message);
      etcd.sendToOne(message);
      probe.awaitContent(Map.of(ONE, message));
      assertThat(etcd.listings()).isEqualTo(++listings);
    }
  }

  @Test
  void aStoreThatCannotBeListedIsLostUntilItCan() throws Exception {
    etcd.fail(true);
    start(etcd.access());
    assertThat(probe.awaitLoss()).contains("503").contains("no leader");
    probe.awaitLoss();
    etcd.putSilently(ONE, "{}");
    etcd.fail(false);

    probe.awaitContent(Map.of(ONE, "{}"));
  }

  @Test
  void anotherAddressIsTriedAfterOneThatFails() throws Exception {
    etcd.putSilently(ONE, "{}");
    int nobody;
    try (java.net.ServerSocket socket = new java.net.ServerSocket(0)) {
      nobody = socket.getLocalPort();
    }
    start(EtcdAccess.parse("127.0.0.1:" + nobody + "," + etcd.address()));
    probe.awaitLoss();

    probe.awaitContent(Map.of(ONE, "{}"));
  }

  @Test
  void aUserLogsInFirst() throws Exception {
    etcd.requireToken("me-secret");
    etcd.putSilently(ONE, "{}");
    start(new EtcdAccess(etcd.access().endpoints(), "me", "secret", null));

    probe.awaitContent(Map.of(ONE, "{}"));
  }

  @Test
  void documentsAreCutByLinesAndBounded() throws Exception {
    Documents documents = new Documents(10);
    assertThat(documents.take(utf8("ab\ncd"))).containsExactly(utf8("ab"));
    assertThat(documents.take(utf8("ef\n\n"))).containsExactly(utf8("cdef"));
    documents.take(utf8("x"));
    assertThat(documents.end()).isEqualTo(utf8("x"));
    documents.take(utf8("0123456789"));
    assertThatThrownBy(() -> documents.take(utf8("0"))).hasMessageContaining("more than 10 bytes");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void accessIsCheckedByName() {
    assertThat(EtcdAccess.parse("a:1, https://b:2").endpoints())
        .containsExactly(URI.create("http://a:1"), URI.create("https://b:2"));
    for (String bad : List.of("a", "ftp://a:1", "")) {
      assertThatThrownBy(() -> EtcdAccess.parse(bad)).isInstanceOf(IllegalArgumentException.class);
    }
    List<URI> one = List.of(URI.create("http://a:1"));
    assertThatThrownBy(() -> new EtcdAccess(List.of(), null, null, null))
        .hasMessageContaining("endpoints = []");
    assertThatThrownBy(() -> new EtcdAccess(one, "me", null, null))
        .hasMessageContaining("user = me");
    assertThat(new EtcdAccess(one, "me", "secret", null).toString()).doesNotContain("secret");
  }
}
