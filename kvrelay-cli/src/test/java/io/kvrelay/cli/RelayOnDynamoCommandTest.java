package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RelayOnDynamoCommandTest {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @TempDir private Path store;

  private static String get(String base, String path) {
    try {
      return CLIENT
          .send(
              HttpRequest.newBuilder(URI.create(base + path)).build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** Records end without heartbeats, so there is one at each look. */
  private void awaitBody(String base, String path, String text) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    String body = get(base, path);
    while (!body.contains(text)) {
      assertThat(System.nanoTime()).as(body).isLessThan(deadline);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      try (Stream<Path> files = Files.list(store.resolve("v1/mdc"))) {
        for (Path file : files.toList()) {
          Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
        }
      }
      body = get(base, path);
    }
  }

  @Test
  void aDeploymentIsFollowedAndWhatCannotBeReadIsNamed() throws IOException {
    Path cards = Files.createDirectories(store.resolve("v1/mdc"));
    Files.writeString(
        cards.resolve("ns%2Fbackend%2Fgenerate%2F1"),
        "{\"type\":\"Model\",\"namespace\":\"ns\",\"component\":\"backend\",\"endpoint\":"
            + "\"generate\",\"instance_id\":1,\"card_json\":{\"display_name\":\"m\","
            + "\"kv_cache_block_size\":16,\"model_type\":\"Chat\"}}");
    Files.writeString(cards.resolve("ns%2Fbackend%2Fgenerate%2F2"), "{");
    CommandRun run =
        CommandRun.start(
            "relay",
            "--dc-id",
            "dc",
            "--dynamo",
            "file:" + store,
            "--namespaces",
            "ns,other",
            "--endpoint-prefix",
            "ns.backend",
            "--expected-blocks",
            "1000",
            "--answer-bind",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0");
    String line = run.awaitError("operators at ");
    String base = line.substring(line.indexOf("http://"));

    awaitBody(base, "/diagnostics", "\"endpoints\":1,");
    awaitBody(base, "/healthz", "v1/mdc/ns/backend/generate/2");
    awaitBody(base, "/diagnostics", "\"malformed_records\":1");
    CommandRun.assertJson(get(base, "/diagnostics").strip());
    assertThat(get(base, "/metrics"))
        .contains("kvrelay_dynamo_records_refused_total{outcome=\"malformed\"} 1.0");

    run.interrupt();
    assertThat(run.exitCode()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        " | Exactly one of --config=FILE and --dynamo=DEPLOYMENT",
        "--config a --dynamo file:b | Exactly one of --config=FILE and --dynamo=DEPLOYMENT",
        "--config a --watch-all | the file says what is followed",
        "--dynamo file:a | namespaces = []",
        "--dynamo file:a --watch-all --namespaces b | namespaces = [b]",
        "--dynamo file:a --namespaces b --endpoint-prefix c.d | endpointPrefixes = \"c.d\"",
        "--dynamo nats://a --watch-all | must be file:DIRECTORY or etcd://HOST:PORT",
        "--dynamo etcd://a --watch-all | endpoints = http://a",
        "--dynamo file:a --watch-all --answer-bind b | --answer-bind = b: must be HOST:PORT",
        "--dynamo file:a --watch-all --expected-blocks 0 | --expected-blocks = 0: ",
      })
  void badInputIsOneLineAndExitCodeTwo(String options, String message) {
    StringWriter err = new StringWriter();
    String[] args = ("relay --dc-id dc" + (options == null ? "" : " " + options)).split(" ", -1);
    assertThat(Main.run(new PrintWriter(new StringWriter()), new PrintWriter(err, true), args))
        .isEqualTo(2);
    assertThat(err.toString()).contains(message);
    assertThat(err.toString().lines()).hasSizeLessThanOrEqualTo(2);
  }
}
