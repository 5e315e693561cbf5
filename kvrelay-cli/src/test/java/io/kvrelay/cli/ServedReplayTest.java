package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.ViewConfig;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServedReplayTest {
  private static final Pattern WORDS = Pattern.compile("\"words_xxh3\":\"([0-9a-f]{16})\"");

  @TempDir private Path directory;

  /**
   * A few workers that store chains of blocks and drop some of them. The last event is a store:
   * whoever has seen all words has seen every event.
   */
  private String recording(int events) throws IOException {
    SplittableRandom random = new SplittableRandom(7);
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < events; i++) {
      StringBuilder blocks = new StringBuilder();
      for (int k = 0; k < 3; k++) {
        long hash = 1L + random.nextInt(1 << 20);
        blocks.append(k == 0 ? "" : ",");
        blocks.append("{\"block_hash\":" + hash + ",\"tokens_hash\":" + 7 * hash + "}");
      }
      boolean removal = i % 5 == 3;
      String data =
          removal
              ? "\"removed\":{\"block_hashes\":[" + random.nextInt(1 << 20) + "]}"
              : "\"stored\":{\"blocks\":[" + blocks + "]}";
      lines.add(
          "{\"worker_id\":"
              + i % 3
              + ",\"event\":{\"event_id\":"
              + i
              + ",\"data\":{"
              + data
              + "}}}");
    }
    return Files.write(directory.resolve("events.jsonl"), lines).toString();
  }

  private static String words(String json) {
    Matcher found = WORDS.matcher(json);
    assertThat(found.find()).as(json).isTrue();
    return found.group(1);
  }

  private static String replay(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    assertThat(Main.run(new PrintWriter(out), new PrintWriter(err), args)).as("%s", err).isZero();
    return out.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"inproc:served-replay", "grpc://127.0.0.1:0"})
  void whoFollowsItEndsWithTheWordsOfAReplayThatIsNotServed(String address) throws Exception {
    String events = recording(200);
    String expected = words(replay("replay", events, "--expected-blocks", "2000", "--json"));
    CommandRun served =
        CommandRun.start(
            "replay",
            events,
            "--expected-blocks",
            "2000",
            "--json",
            "--bind",
            address,
            "--rate",
            "400",
            "--hold",
            "600",
            "--dc-id",
            "west",
            "--model",
            "m",
            "--block-size",
            "32");
    URI where = URI.create(served.awaitError("serving ").replaceFirst(".*serving ", ""));

    try (SystemRuntime runtime = SystemRuntime.create(2);
        ConnectedSource source = connect(where, runtime);
        KvGlobalView view = KvGlobalView.create(ViewConfig.DEFAULTS, runtime)) {
      view.attach((RelayPublicationSource) source);
      follow(view, expected);

      PoolDescriptor pool = view.pools().get(0);
      assertThat(pool.servingEndpoint()).hasToString("replay.worker.generate");
      assertThat(pool.querySemantics().kvBlockSize()).isEqualTo(32);
      assertThat(pool.registrations().get(0).canonicalModelId()).isEqualTo("m");
      assertThat(view.state().sources().get(0).pools().get(0).load().isKnown()).isFalse();
    }
    served.interrupt();
    assertThat(served.exitCode()).isZero();
    assertThat(served.lines())
        .singleElement()
        .asString()
        .startsWith("{\"events\":200,")
        .contains("\"words_xxh3\":\"" + expected + "\"");
  }

  private static ConnectedSource connect(URI address, SystemRuntime runtime) {
    return RelayTransports.connect(address, ConnectOptions.defaults(runtime))
        .toCompletableFuture()
        .join();
  }

  /** Waits until the view's only lane holds the expected words. */
  private static void follow(KvGlobalView view, String expected) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    String last = "nothing";
    while (!last.equals(expected)) {
      assertThat(System.nanoTime()).as("words so far: %s", last).isLessThan(end);
      TimeUnit.MILLISECONDS.sleep(10);
      if (!view.pools().isEmpty()) {
        PoolDescriptor pool = view.pools().get(0);
        long[] words = new long[pool.producer().format().bucketCount()];
        last = view.copyLaneWords(pool.poolId(), words) ? digest(words) : "no replica";
      }
    }
  }

  private static String digest(long[] words) {
    byte[] bytes = new byte[8 * words.length];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().put(words);
    return String.format("%016x", Xxh3.UNSEEDED.hashBytes(bytes, 0, bytes.length));
  }

  @Test
  void aReplayThatIsStoppedPrintsWhatItHasDone() throws IOException {
    CommandRun served =
        CommandRun.start(
            "replay", recording(100), "--json", "--bind", "inproc:stopped", "--rate", "0.001");
    served.awaitError("serving ");

    served.interrupt();

    assertThat(served.exitCode()).isZero();
    assertThat(served.lines()).singleElement().asString().matches("\\{\"events\":[01],.*");
  }

  @Test
  void withoutAHoldItEndsAfterTheLastEvent() throws IOException {
    CommandRun served = CommandRun.start("replay", recording(20), "--bind", "inproc:unheld");

    assertThat(served.exitCode()).isZero();
    assertThat(served.lines()).anySatisfy(line -> assertThat(line).matches("events +20"));
    assertThat(served.errors()).isEqualTo("kvrelay replay: serving inproc:unheld");
  }

  @Test
  void itIsServedWithTheGivenCertificate() throws Exception {
    TestCertificates tls = TestCertificates.create(directory);
    String certificate = tls.certificate().toString();
    CommandRun served =
        CommandRun.start(
            "replay",
            recording(20),
            "--bind",
            "grpc://localhost:0",
            "--hold",
            "600",
            "--tls-cert",
            certificate,
            "--tls-key",
            tls.key().toString());
    String where = served.awaitError("serving ").replaceFirst(".*serving ", "");
    Path prompts = Files.writeString(directory.resolve("prompts.jsonl"), "[]\n");

    CommandRun match =
        CommandRun.start(
            "match", where, "--tokens", prompts.toString(), "--json", "--tls-ca", certificate);

    assertThat(match.exitCode()).as(match.errors()).isZero();
    assertThat(match.lines()).hasSize(1);
    served.interrupt();
    assertThat(served.exitCode()).isZero();
  }

  @Test
  void anAddressThatIsTakenIsOneLineAndExitCodeOne() throws IOException {
    String events = recording(1);
    CommandRun first =
        CommandRun.start("replay", events, "--bind", "inproc:taken", "--hold", "600");
    first.awaitError("serving ");

    CommandRun second = CommandRun.start("replay", events, "--bind", "inproc:taken");

    assertThat(second.exitCode()).isEqualTo(2);
    assertThat(second.errors()).hasLineCount(1).contains("--bind = inproc:taken: ");
    first.interrupt();
    assertThat(first.exitCode()).isZero();
  }

  @Test
  void badOptionsAreNamed() throws IOException {
    String events = recording(1);
    assertRefused("--rate", "replay", events, "--rate", "5");
    assertRefused("--rounds = 2", "replay", events, "--bind", "inproc:x", "--rounds", "2");
    assertRefused("--rate = 0.0", "replay", events, "--bind", "inproc:x", "--rate", "0");
    assertRefused("--rate = NaN", "replay", events, "--bind", "inproc:x", "--rate", "NaN");
    assertRefused("--hold = -1.0", "replay", events, "--bind", "inproc:x", "--hold", "-1");
    assertRefused("--block-size = 0", "replay", events, "--bind", "inproc:x", "--block-size", "0");
    assertRefused(
        "--dc-id = \" west\"", "replay", events, "--bind", "inproc:x", "--dc-id", " west");
    assertRefused("--model = \"\"", "replay", events, "--bind", "inproc:x", "--model", "");
    assertRefused("pigeon:x", "replay", events, "--bind", "pigeon:x");
    assertRefused("grpc://x", "replay", events, "--bind", "grpc://x");
    assertRefused("--tls-key", "replay", events, "--bind", "grpc://x:1", "--tls-cert", "pom.xml");
    assertRefused("--bind", "replay", events, "--tls-ca", "pom.xml");
  }

  private static void assertRefused(String named, String... args) {
    CommandRun run = CommandRun.start(args);
    assertThat(run.exitCode()).as("%s", run.errors()).isEqualTo(2);
    assertThat(run.errors()).hasLineCount(1).startsWith("kvrelay replay: ").contains(named);
    assertThat(run.lines()).isEmpty();
  }
}
