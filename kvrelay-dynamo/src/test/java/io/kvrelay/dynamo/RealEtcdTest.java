package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvrelay.api.runtime.SystemRuntime;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The same against an etcd of its own, where one is installed; skipped where none is. */
@Timeout(90)
class RealEtcdTest {
  private static final String ONE = "v1/mdc/n/c/e/1";
  private static final String TWO = "v1/instances/n/c/e/1";

  @TempDir Path data;

  private final SystemRuntime runtime = SystemRuntime.create(2);
  private final StoreProbe probe = new StoreProbe();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private Process etcd;
  private int clientPort;
  private int peerPort;
  private EtcdRecordStore store;

  private static boolean isInstalled() {
    for (String folder : System.getenv().getOrDefault("PATH", "").split(":", -1)) {
      if (Files.isExecutable(Path.of(folder, "etcd"))) {
        return true;
      }
    }
    return false;
  }

  @BeforeEach
  void open() throws Exception {
    assumeTrue(isInstalled(), "no etcd on the PATH");
    try (ServerSocket one = new ServerSocket(0);
        ServerSocket two = new ServerSocket(0)) {
      clientPort = one.getLocalPort();
      peerPort = two.getLocalPort();
    }
    startEtcd();
    store = new EtcdRecordStore(runtime, EtcdAccess.parse("127.0.0.1:" + clientPort));
  }

  private void startEtcd() throws IOException {
    List<String> command = new ArrayList<>(List.of("etcd", "--name", "test", "--data-dir"));
    command.add(data.resolve("etcd").toString());
    for (String which : List.of("listen-client-urls", "advertise-client-urls")) {
      command.addAll(List.of("--" + which, "http://127.0.0.1:" + clientPort));
    }
    for (String which : List.of("listen-peer-urls", "initial-advertise-peer-urls")) {
      command.addAll(List.of("--" + which, "http://127.0.0.1:" + peerPort));
    }
    command.addAll(List.of("--initial-cluster", "test=http://127.0.0.1:" + peerPort));
    etcd =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(data.resolve("etcd.log").toFile())
            .start();
  }

  @AfterEach
  void close() throws Exception {
    if (store != null) {
      store.close();
    }
    if (etcd != null) {
      etcd.destroyForcibly().waitFor();
    }
    runtime.close();
  }

  /** Calls the gateway; while etcd is starting it is called again. */
  private String call(String path, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + clientPort + path))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    for (int attempt = 0; ; attempt++) {
      try {
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() == 200) {
          return answer.body();
        }
      } catch (IOException starting) {
        assertThat(etcd.isAlive()).isTrue();
      }
      assertThat(attempt).as(path).isLessThan(400);
      java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
    }
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private void put(String key, String value, String lease) throws Exception {
    call(
        "/v3/kv/put",
        "{\"key\":\""
            + base64(key)
            + "\",\"value\":\""
            + base64(value)
            + "\",\"lease\":\""
            + lease
            + "\"}");
  }

  @Test
  void recordsComeChangeAndGoWithTheirLease() throws Exception {
    put(ONE, "{}", "0");
    put("v1/other", "{}", "0");
    store.start(probe);
    probe.awaitContent(Map.of(ONE, "{}"));

    call("/v3/lease/grant", "{\"ID\":\"77\",\"TTL\":\"300\"}");
    put(TWO, "{\"a\":1}", "77");
    probe.awaitContent(Map.of(ONE, "{}", TWO, "{\"a\":1}"));
    put(ONE, "{\"taints\":1}", "0");
    probe.awaitContent(Map.of(ONE, "{\"taints\":1}", TWO, "{\"a\":1}"));
    call("/v3/lease/revoke", "{\"ID\":\"77\"}");
    probe.awaitContent(Map.of(ONE, "{\"taints\":1}"));
    call("/v3/kv/deleterange", "{\"key\":\"" + base64(ONE) + "\"}");
    probe.awaitContent(Map.of());
    assertThat(probe.lostAnything()).isFalse();
  }

  @Test
  void anEtcdThatDiesIsLostAndWhatChangedMeanwhileIsSeenAfterwards() throws Exception {
    put(ONE, "{}", "0");
    store.start(probe);
    probe.awaitContent(Map.of(ONE, "{}"));

    etcd.destroyForcibly().waitFor();
    assertThat(probe.awaitLoss()).contains("127.0.0.1:" + clientPort);
    startEtcd();
    put(TWO, "{}", "0");

    probe.awaitContent(Map.of(ONE, "{}", TWO, "{}"));
  }
}
