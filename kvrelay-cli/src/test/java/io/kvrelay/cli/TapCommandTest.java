package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.testkit.engine.EngineWire;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code kvrelay tap} on simulated engines over real sockets. */
@Timeout(120)
class TapCommandTest {
  @TempDir private Path directory;

  @Test
  void showsEventsAndRatesAsJson() {
    try (TestEngine engine = new TestEngine(EngineWire.VLLM_MAPS)) {
      engine.request(1, 3);
      CommandRun tap =
          CommandRun.start(
              "tap", engine.live(), "--replay", engine.replay(), "--json", "--every", "1");
      String batch = tap.await("\"sequence\":0");
      assertThat(batch)
          .contains("\"replayed\":true", "\"kind\":\"stored\"", "\"blocks\":3", "\"block_size\":16")
          .contains("\"medium\":\"GPU\"", "\"parent\":null", "\"tokens\":48", "\"refused\":null");
      tap.await("\"trust\":\"EXACT\"");
      engine.request(2, 2);
      tap.await("\"sequence\":1");
      tap.await("\"blocks\":5");
      tap.interrupt();
      assertThat(tap.exitCode()).isZero();
      tap.lines().forEach(CommandRun::assertJson);
    }
  }

  @Test
  void showsEventsToPeopleAndSaysWhyAStateIsNotExact() {
    try (TestEngine engine = new TestEngine(EngineWire.SGLANG_ARRAYS)) {
      engine.request(1, 2);
      CommandRun tap = CommandRun.start("tap", engine.live(), "--engine", "sglang", "--every", "1");
      tap.await("UNKNOWN: nothing heard");
      tap.await("0 blocks held");
      engine.awaitSubscriber();
      engine.request(2, 1);
      tap.await("#1 stored 1 block of 16");
      tap.await("DEGRADED: joined at sequence 1, and there is no replay");
      tap.interrupt();
      assertThat(tap.exitCode()).isZero();
    }
  }

  @Test
  void recordsWhatReplayReads() throws Exception {
    Path file = directory.resolve("events.jsonl");
    try (TestEngine engine = new TestEngine(EngineWire.TRTLLM_MAPS)) {
      for (int i = 0; i < 5; i++) {
        engine.request(i, 4);
      }
      CommandRun tap =
          CommandRun.start(
              "tap",
              engine.live(),
              "--replay",
              engine.replay(),
              "--engine",
              "trtllm",
              "--block-size",
              "16",
              "--worker",
              "18446744073709551615",
              "--record",
              file.toString());
      tap.await("EXACT");
      tap.interrupt();
      assertThat(tap.exitCode()).isZero();
    }
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(5);
    assertThat(lines.get(0)).contains("\"worker_id\":18446744073709551615", "\"event_id\":1");
    CommandRun replay = CommandRun.start("replay", file.toString(), "--json");
    assertThat(replay.exitCode()).isZero();
    assertThat(String.join("\n", replay.lines())).contains("\"unique\":20");
  }

  @Test
  void theBlockSizeIsLearnedFromTheStream() throws Exception {
    Path file = directory.resolve("events.jsonl");
    try (TestEngine engine = new TestEngine(EngineWire.VLLM_ARRAYS, 8)) {
      engine.request(1, 2);
      CommandRun tap =
          CommandRun.start(
              "tap", engine.live(), "--replay", engine.replay(), "--record", file.toString());
      tap.await("DEGRADED: blockSize = 8: the pool has 16");
      tap.await("EXACT");
      tap.interrupt();
      assertThat(tap.exitCode()).isZero();
    }
    CommandRun replay = CommandRun.start("replay", file.toString(), "--json");
    assertThat(replay.exitCode()).isZero();
    assertThat(String.join("\n", replay.lines())).contains("\"unique\":4,");
  }

  @Test
  void badInputIsNamed() {
    assertRefused("address = \"udp://x:1\"", "tap", "udp://x:1");
    assertRefused("--engine = llama", "tap", "tcp://127.0.0.1:1", "--engine", "llama");
    assertRefused("--every = 0", "tap", "tcp://127.0.0.1:1", "--every", "0");
    assertRefused("replayAddress", "tap", "tcp://127.0.0.1:1", "--replay", "x");
    assertRefused(
        "--record",
        "tap",
        "tcp://127.0.0.1:1",
        "--record",
        directory.resolve("no/file").toString());
  }

  private static void assertRefused(String message, String... command) {
    CommandRun run = CommandRun.start(command);
    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.errors()).startsWith("kvrelay tap: ").contains(message);
  }
}
