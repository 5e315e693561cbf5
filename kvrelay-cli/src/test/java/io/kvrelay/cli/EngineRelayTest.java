package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.Member;
import io.kvrelay.cli.config.EventsEntry;
import io.kvrelay.cli.config.RelayFile;
import io.kvrelay.cli.config.RelayFileReader;
import io.kvrelay.cli.config.ZmqEngines;
import io.kvrelay.testkit.engine.EngineWire;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A relay process beside engines of each kind, with nothing but the documented example file. */
@Timeout(120)
class EngineRelayTest {
  private static final Path EXAMPLE = Path.of("../docs/examples/engines.yaml");

  @TempDir private Path directory;

  @Test
  void theExampleFileServesAnEngineOfEachKind() throws Exception {
    try (TestEngine vllm = new TestEngine(EngineWire.VLLM_MAPS);
        TestEngine sglang = new TestEngine(EngineWire.SGLANG_ARRAYS);
        TestEngine trtllm = new TestEngine(EngineWire.TRTLLM_MAPS)) {
      List<TestEngine> engines = List.of(vllm, sglang, trtllm);
      for (int i = 0; i < 3; i++) {
        engines.get(i).request(i, 3 + i);
      }
      Path config = Files.writeString(directory.resolve("relay.yaml"), example(engines));
      CommandRun relay =
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
      String address = after(relay.awaitError("serving"), "serving ");
      String base = after(relay.awaitError("operators at"), "operators at ");
      awaitDiagnostics(base, "\"blocks\":3,", "\"blocks\":4,", "\"blocks\":5,");
      vllm.request(7, 2);
      awaitDiagnostics(
          base,
          "\"trust\":\"exact\"",
          "\"blocks\":5,",
          "\"address\":\"" + vllm.live(),
          "\"events.stored.GPU\":");

      List<String> prompts = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        prompts.add(Arrays.toString(TestEngine.prompt(i, 3 + i)));
      }
      Path tokens = Files.write(directory.resolve("prompts.jsonl"), prompts);
      CommandRun match =
          CommandRun.start("match", address, "--tokens", tokens.toString(), "--json");
      assertThat(match.exitCode()).as(match.errors()).isZero();
      for (int i = 0; i < 3; i++) {
        assertThat(match.lines().get(i))
            .contains("\"depth\":" + (3 + i) + ",\"blocks\":" + (3 + i));
      }
      relay.interrupt();
      assertThat(relay.exitCode()).isZero();
    }
  }

  private static String example(List<TestEngine> engines) throws IOException {
    String text = Files.readString(EXAMPLE);
    for (int i = 0; i < engines.size(); i++) {
      text =
          text.replace("tcp://10.0.0.1" + (i + 1) + ":5557", engines.get(i).live())
              .replace("tcp://10.0.0.1" + (i + 1) + ":6557", engines.get(i).replay());
    }
    return text;
  }

  private static String after(String line, String mark) {
    return line.substring(line.indexOf(mark) + mark.length()).strip();
  }

  private static void awaitDiagnostics(String base, String... texts) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    String body = "";
    while (!Arrays.stream(texts).allMatch(body::contains)) {
      assertThat(System.nanoTime()).as(body).isLessThan(deadline);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
      HttpRequest request = HttpRequest.newBuilder(URI.create(base + "/diagnostics")).build();
      body = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
  }

  @Test
  void everyKeyOfAnEntryIsCheckedInTheFilesWords() {
    try (ZmqEngines engines = new ZmqEngines()) {
      assertThat(engines.engines()).containsExactlyInAnyOrder("vllm", "sglang", "trtllm");
      assertProblem(engines, "live: 'udp://h:1'", "events[0].live = udp://h:1: must be tcp://");
      assertProblem(engines, "live: 'tcp://h:5557', replay: 'tcp://h:5557'", "h:5557");
      assertProblem(
          engines,
          "live: 'tcp://h:5557', multimodal: guess",
          "events[0].multimodal = guess: must be one of any-identifier, padded-digest");
    }
  }

  private static void assertProblem(ZmqEngines engines, String entry, String problem) {
    RelayFileReader.Result result = new RelayFileReader(engines).read("relay.yaml", file(entry));
    assertThat(result.problems()).anyMatch(line -> line.contains(problem));
  }

  private static String file(String entry) {
    return """
    endpoints:
      - endpoint: prod.backend.generate
        model: llama
        block-size: 16
        workers: [{id: 1, events: [{engine: vllm, %s}]}]
    """
        .formatted(entry);
  }

  @Test
  void anIpcAddressBelongsToRankZero() {
    try (ZmqEngines engines = new ZmqEngines()) {
      RelayFile file =
          new RelayFileReader(engines).read("relay.yaml", file("live: 'ipc:///tmp/kv'")).file();
      assertThat(file).isNotNull();
      EventsEntry zero = file.events().get(0);
      assertThat(engines.check(zero)).isNull();
      EventsEntry one =
          new EventsEntry(
              1,
              "f",
              zero.kvStateEndpoint(),
              new Member(1, 1),
              zero.semantics(),
              "vllm",
              zero.live(),
              null,
              null,
              false,
              zero.adapterIds(),
              "",
              zero.imageToken(),
              zero.videoToken(),
              null,
              null,
              zero.maxBlocks(),
              zero.historyEvents(),
              zero.heldBatches());
      assertThat(engines.check(one))
          .isEqualTo("live = ipc:///tmp/kv: engines give an ipc address to rank 0 only");
    }
  }
}
