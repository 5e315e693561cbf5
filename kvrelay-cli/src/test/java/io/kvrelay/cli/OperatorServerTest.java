package io.kvrelay.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.cli.config.FakeEngines;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What peers that are slow, confused or hostile get from the local endpoint. */
class OperatorServerTest {
  private static final int PATIENCE_MILLIS = 30_000;

  @TempDir private Path directory;
  private RelayProcess process;
  private int port;

  @BeforeEach
  void open() throws IOException {
    Path config = directory.resolve("relay.yaml");
    Files.writeString(config, "endpoints: []\n");
    process = RelayProcess.start("dc-a", config, new FakeEngines());
    String address = process.openHttp(HttpAddress.parse("--http", "127.0.0.1:0"));
    port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  @AfterEach
  void close() {
    process.close();
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket();
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MILLIS);
    socket.setSoTimeout(PATIENCE_MILLIS);
    return socket;
  }

  /** Sends bytes as they are, and reads until the server closes. */
  private String raw(String request) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(request.getBytes(ISO_8859_1));
      socket.getOutputStream().flush();
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  private String ask(String line) throws IOException {
    return raw(line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  /** As a probe does it: a request that waited too long is asked again. */
  private String probe() throws IOException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    while (true) {
      try {
        return ask("GET /healthz");
      } catch (IOException dropped) {
        if (System.nanoTime() > deadline) {
          throw dropped;
        }
      }
    }
  }

  @Test
  void slowPeersDoNotKeepTheOthersOut() throws IOException {
    List<Socket> slow = new ArrayList<>();
    try {
      for (int i = 0; i < 64; i++) {
        Socket socket = connect();
        socket.getOutputStream().write("GET /healthz HTTP/1.1\r\nHost:".getBytes(ISO_8859_1));
        socket.getOutputStream().flush();
        slow.add(socket);
      }
      assertThat(probe()).startsWith("HTTP/1.1 200");
    } finally {
      for (Socket socket : slow) {
        socket.close();
      }
    }
  }

  @Test
  void clearsThatAreNeverDoneDoNotHoldUpHealth() throws Exception {
    CompletableFuture<Void> never = new CompletableFuture<>();
    CountDownLatch underWay = new CountDownLatch(OperatorServer.CLEARS_AT_ONCE);
    InetSocketAddress anywhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    String body = "{\"endpoint\": \"a.b.c\", \"worker\": 1}";
    String clear =
        String.join(
            "\r\n",
            "POST /ranks/clear HTTP/1.1",
            "Host: x",
            "Connection: close",
            "Content-Type: application/json",
            "Content-Length: " + body.length(),
            "",
            body);
    List<Socket> waiting = new ArrayList<>();
    try (OperatorServer held =
        OperatorServer.open(
            anywhere,
            process,
            (endpoint, member) -> {
              underWay.countDown();
              return never;
            })) {
      port = Integer.parseInt(held.address().substring(held.address().lastIndexOf(':') + 1));
      for (int i = 0; i < OperatorServer.CLEARS_AT_ONCE; i++) {
        Socket socket = connect();
        socket.getOutputStream().write(clear.getBytes(ISO_8859_1));
        socket.getOutputStream().flush();
        waiting.add(socket);
      }
      assertThat(underWay.await(20, TimeUnit.SECONDS)).isTrue();
      for (int i = 0; i < 20; i++) {
        assertThat(raw(clear)).startsWith("HTTP/1.1 503").contains("ask again");
      }
      assertThat(ask("GET /healthz")).startsWith("HTTP/1.1 200");
      assertThat(ask("GET /metrics")).contains("kvrelay_http_clears_refused_requests_total 20");
      never.complete(null);
      for (Socket socket : waiting) {
        String answer = new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        assertThat(answer).startsWith("HTTP/1.1 200");
      }
      assertThat(raw(clear)).startsWith("HTTP/1.1 200");
    } finally {
      for (Socket socket : waiting) {
        socket.close();
      }
    }
  }

  @Test
  void aProbeMayAskForTheHeadAlone() throws IOException {
    assertThat(ask("HEAD /healthz")).startsWith("HTTP/1.1 200").endsWith("\r\n\r\n");
    assertThat(ask("HEAD /ranks/clear")).startsWith("HTTP/1.1 405").endsWith("\r\n\r\n");
    assertThat(ask("PUT /healthz")).startsWith("HTTP/1.1 405").containsIgnoringCase("allow: GET");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET //healthz",
        "GET /healthz/",
        "GET /healthz/../metrics",
        "GET /x/../healthz",
        "GET /healthz%2f",
        "GET /healthz;x",
        "GET /HEALTHZ",
        "GET /healthzz",
        "GET http:healthz",
        "GET urn:healthz",
        "GET ?",
        "OPTIONS *",
      })
  void onlyTheVeryPathIsServed(String line) throws IOException {
    assertThat(ask(line)).doesNotContain(" 200 ").doesNotContain("\"healthy\"");
    assertThat(ask("GET /healthz?verbose")).startsWith("HTTP/1.1 200");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"endpoint\":\"a.b.c\",\"worker\":{\"worker\":1}}",
        "{\"endpoint\":\"a.b.c\",\"worker\":[1]}",
        "{\"endpoint\":\"a.b.c\",\"worker\":null}",
        "{\"endpoint\":\"a.b.c\",\"worker\":true}",
        "{\"endpoint\":\"a.b.c\",\"worker\":1.0}",
        "{\"endpoint\":\"a.b.c\",\"worker\":1,\"worker\":2}",
        "{\"endpoint\":\"a.b.c\",\"worker\":1} {}",
        "{\"endpoint\":\"a.b.c\",\"worker\":18446744073709551616}",
        "{\"endpoint\":\"a.b.c\",\"worker\":1,\"rank\":4294967296}",
        "{\"endpoint\":\"a.b.c\",\"worker\":1",
      })
  void aClearThatCanBeReadInTwoWaysIsRefused(String body) {
    assertThatThrownBy(() -> ClearRequest.parse(body))
        .as(body)
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void itIsBoundWhereItWasTold() {
    assertThatThrownBy(
            () -> {
              try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress("127.0.0.2", port), PATIENCE_MILLIS);
              }
            })
        .isInstanceOf(IOException.class);
  }

  @Test
  void aStopMayTakeAsLongAsTheFileAllows() {
    try (Interrupt interrupt = new Interrupt()) {
      assertThat(interrupt.patienceSeconds()).isEqualTo(60);
      interrupt.allow(15);
      assertThat(interrupt.patienceSeconds()).isEqualTo(60);
      interrupt.allow(335);
      assertThat(interrupt.patienceSeconds()).isEqualTo(335);
    }
  }
}
