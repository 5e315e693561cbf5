package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.cli.config.FakeEngines;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RelayCommandTest {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final long PATIENCE_SECONDS = 30;
  private static final String DEPLOYMENT =
      """
      endpoints:
        - endpoint: prod.backend.generate
          model: llama
          block-size: 16
          total-kv-blocks: 100
          workers: [{id: 1%s}]
      """;
  private static final String SOURCE = ", events: [{engine: vllm, live: 'tcp://127.0.0.1:1'}]";

  @TempDir private Path directory;
  private Path config;

  @BeforeEach
  void writeAFile() throws IOException {
    config = directory.resolve("relay.yaml");
    write("");
  }

  private void write(String worker) throws IOException {
    Files.writeString(config, DEPLOYMENT.formatted(worker));
  }

  private static HttpResponse<String> get(String base, String path) {
    return send(HttpRequest.newBuilder(URI.create(base + path)).GET());
  }

  private static HttpResponse<String> post(String base, String type, String body) {
    return send(
        HttpRequest.newBuilder(URI.create(base + "/ranks/clear"))
            .header("Content-Type", type)
            .POST(HttpRequest.BodyPublishers.ofString(body)));
  }

  private static HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return CLIENT.send(
          request.timeout(Duration.ofSeconds(PATIENCE_SECONDS)).build(),
          HttpResponse.BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  private static String awaitBody(String base, String path, String text) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    String body = get(base, path).body();
    while (!body.contains(text)) {
      assertThat(System.nanoTime()).as(body).isLessThan(deadline);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      body = get(base, path).body();
    }
    return body;
  }

  private static String after(String line, String mark) {
    return line.substring(line.indexOf(mark) + mark.length()).strip();
  }

  @Test
  void aRelayServesTellsAboutItselfAndEndsInOrder() throws IOException {
    CommandRun run =
        CommandRun.start(
            "relay",
            "--dc-id",
            "dc-a",
            "--config",
            config.toString(),
            "--bind",
            "grpc://127.0.0.1:0",
            "--http",
            "127.0.0.1:0");
    String address = after(run.awaitError("serving"), "serving ");
    String base = after(run.awaitError("operators at"), "operators at ");
    run.awaitError("running");

    awaitBody(base, "/readyz", "\"ready\":true");
    assertThat(get(base, "/readyz").statusCode()).isEqualTo(200);
    HttpResponse<String> health = get(base, "/healthz");
    assertThat(health.statusCode()).isEqualTo(200);
    assertThat(health.body())
        .contains("\"healthy\":true", "\"wan_serving\":true", "\"wan_bound_address\":\"" + address);
    CommandRun.assertJson(health.body().strip());
    assertThat(get(base, "/metrics").body())
        .contains("kvrelay_healthy 1.0", "kvrelay_wan_serving 1.0", "kvrelay_config_current 1.0")
        .contains("kvrelay_endpoints{state=\"discovered\"} 1.0");

    CommandRun watch = CommandRun.start("watch", address, "--json");
    watch.await("\"type\":\"readiness\"");

    Files.writeString(config, "endpoints: 5\n");
    assertThat(awaitBody(base, "/diagnostics", "last good version stays"))
        .contains("\"refused\":1", "\"current\":false", "endpoints = 5: must be a list");
    assertThat(get(base, "/metrics").body())
        .contains("kvrelay_config_versions_total{outcome=\"refused\"} 1.0");

    run.interrupt();
    assertThat(run.exitCode()).isZero();
    assertThat(run.errors()).contains("stopping");
    watch.exitCode();
  }

  @Test
  void ranksAreShownWithTheirTrustAndCanBeClearedByHand() throws IOException {
    write(SOURCE);
    FakeEngines engines = new FakeEngines();
    try (RelayProcess process = RelayProcess.start("dc-a", config, engines)) {
      String base = "http://" + process.openHttp(HttpAddress.parse("--http", "127.0.0.1:0"));
      String diagnosis = awaitBody(base, "/diagnostics", "\"trust\":\"");
      CommandRun.assertJson(diagnosis.strip());
      assertThat(diagnosis)
          .contains("\"endpoint\":\"prod.backend.generate\"", "\"rank\":0", "\"trust\":\"");
      assertThat(get(base, "/metrics").body())
          .contains("kvrelay_load_capacity_blocks{endpoint=\"prod.backend.generate\"} 100.0");

      String json = "application/json";
      String rank = "{\"endpoint\":\"prod.backend.generate\",\"worker\":1,\"rank\":0}";
      assertThat(post(base, json, rank).statusCode()).isEqualTo(200);
      awaitBody(base, "/diagnostics", "\"operator_clears\":1");
      assertThat(post(base, "text/plain", rank).statusCode()).isEqualTo(415);
      assertThat(post(base, json, "x".repeat(5000)).statusCode()).isEqualTo(413);
      assertThat(post(base, json, rank.replace(":1,", ":7,")))
          .satisfies(answer -> assertThat(answer.statusCode()).isEqualTo(404))
          .satisfies(answer -> assertThat(answer.body()).contains("7/0"));
      assertThat(post(base, json, rank.replace("backend", "other")).statusCode()).isEqualTo(404);
      for (String broken :
          new String[] {
            "",
            "[]",
            "{\"worker\":1}",
            "{\"endpoint\":\"a.b.c\"}",
            "{\"x\":1}",
            rank.replace(":1,", ":-1,"),
            rank.replace("prod.", "")
          }) {
        assertThat(post(base, json, broken).statusCode()).as(broken).isEqualTo(400);
      }
      assertThat(get(base, "/ranks/clear").statusCode()).isEqualTo(405);
      assertThat(get(base, "/metrics/more").statusCode()).isEqualTo(404);
      assertThat(get(base, "/").statusCode()).isEqualTo(404);
    }
    assertThat(engines.closed).isEqualTo(1);
  }

  /** Counters by kind and medium, untagged and unknown ones included, whatever the engine. */
  @Test
  void theEnginesCountersAreMetersAndPartOfTheDiagnosis() throws IOException {
    write(SOURCE);
    try (RelayProcess process = RelayProcess.start("dc-a", config, new FakeEngines())) {
      String series = "kvrelay_engine_total{endpoint=\"prod.backend.generate\",what=";
      assertThat(process.meters().scrape())
          .contains(series + "\"events.stored.untagged\"} 2.0", series + "\"gaps\"} 0.0");
      assertThat(Diagnostics.of(process.relay(), process.inputs()))
          .contains("\"address\":\"tcp://127.0.0.1:1\",\"counters\":{\"events.stored.untagged\":2,")
          .doesNotContain("\"gaps\":0");
    }
  }

  @Test
  void everyMeterOfTheProcessIsDocumented() throws IOException {
    write(SOURCE);
    String document = Files.readString(Path.of("..", "docs", "operations.md"));
    try (RelayProcess process = RelayProcess.start("dc-a", config, new FakeEngines())) {
      List<String> names =
          process.meters().getMeters().stream().map(meter -> meter.getId().getName()).toList();
      assertThat(names)
          .contains("kvrelay.config.current", "kvrelay.config.versions", "kvrelay.engine")
          .allMatch(name -> document.contains("| `" + name + "` | "));
    }
  }

  @Test
  void everyFaultOfTheFileIsALineAndTheExitCodeIsTwo() throws IOException {
    Files.writeString(config, "pools: {expected-blocks: 0}\nrecovry: {}\n");
    StringWriter err = new StringWriter();
    int code =
        Main.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(err, true),
            "relay",
            "--dc-id",
            "dc",
            "--config",
            config.toString());
    assertThat(code).isEqualTo(2);
    assertThat(err.toString().lines())
        .containsExactly(
            "kvrelay relay: "
                + config
                + ":1: pools.expected-blocks = 0: must be a number from 1"
                + " to 53687091",
            "kvrelay relay: "
                + config
                + ":2: recovry = a mapping: unknown key; did you mean"
                + " recovery?");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--http nonsense | --http = nonsense: must be HOST:PORT",
        "--http 127.0.0.1:70000 | --http = 127.0.0.1:70000: must be HOST:PORT",
        "--bind ftp://x | no transport for scheme",
        "--bind grpc://127.0.0.1:99999 | --bind = grpc://127.0.0.1:99999",
        "--tls-cert x | TLS needs --bind",
        "--dc-id x --dc-id y | --dc-id",
        "--log xml | --log",
      })
  void badInputIsOneLineAndExitCodeTwo(String options, String message) {
    StringWriter err = new StringWriter();
    String[] args =
        ("relay --config "
                + config
                + (options.contains("--dc-id") ? " " : " --dc-id dc ")
                + options)
            .split(" ", -1);
    assertThat(Main.run(new PrintWriter(new StringWriter()), new PrintWriter(err, true), args))
        .isEqualTo(2);
    assertThat(err.toString()).contains(message);
  }

  @Test
  void aNameThatIsNoneIsRefused() {
    StringWriter err = new StringWriter();
    assertThat(
            Main.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err, true),
                "relay",
                "--dc-id",
                " dc",
                "--config",
                config.toString()))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--dc-id = \" dc\"");
  }

  @Test
  void theLogIsOneLineARecordInEitherForm() {
    for (RelayLog.Form form : RelayLog.Form.values()) {
      StringWriter text = new StringWriter();
      try (RelayLog log = RelayLog.install(form, new PrintWriter(text, true))) {
        System.getLogger("io.kvrelay.test")
            .log(System.Logger.Level.WARNING, "a {0}\nof two lines", "record");
        System.getLogger("io.kvrelay.test")
            .log(System.Logger.Level.ERROR, "with a failure", new IOException("gone"));
        log.say("done");
      }
      assertThat(text.toString().lines()).hasSize(3);
      assertThat(text.toString())
          .contains("WARNING", "io.kvrelay.test", "a record", "gone", "done");
      if (form == RelayLog.Form.JSON) {
        text.toString().lines().forEach(CommandRun::assertJson);
      }
    }
  }
}
