package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MatchCommandTest {
  private static final int[] PROMPT = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -1, 0};
  private static final String PROMPT_LINE = "[1,2,3,4,5,6,7,8,9,10,11,12,4294967295,0]";

  @TempDir private Path directory;

  private static RelayExport export(TestRelay relay, String address) {
    return RelayTransports.export(
        relay.source, URI.create(address), ExportOptions.defaults(relay.runtime));
  }

  private static long[] names(BlockSalt salt) {
    return hasher().sequenceHashes(PROMPT, salt);
  }

  private static BlockHasher hasher() {
    return new BlockHasher(TestRelay.BLOCK_SIZE, QueryHashFormat.DYNAMO_STANDARD_V1);
  }

  private String file(String... lines) throws IOException {
    return Files.write(directory.resolve("prompts.jsonl"), List.of(lines)).toString();
  }

  @ParameterizedTest
  @CsvSource({"inproc:match-a,inproc:match-b", "grpc://127.0.0.1:0,grpc://127.0.0.1:0"})
  void everyDataCenterAnswersEveryPromptInOrder(String first, String second) throws IOException {
    try (TestRelay a = new TestRelay("dc-a");
        TestRelay b = new TestRelay("dc-b");
        RelayExport exportA = export(a, first);
        RelayExport exportB = export(b, second)) {
      long[] names = names(BlockSalt.NONE);
      a.store(Arrays.copyOf(names, 1));
      b.store(names);

      CommandRun match =
          CommandRun.start(
              "match",
              exportA.address().toString(),
              exportB.address().toString(),
              "--tokens",
              file(PROMPT_LINE, "[]", "[1,2,3,4,6]"),
              "--json");

      assertThat(match.exitCode()).as(match.errors()).isZero();
      assertThat(match.lines())
          .hasSize(3)
          .allSatisfy(CommandRun::assertJson)
          .allSatisfy(line -> assertThat(line).contains("\"readiness\":\"READY\""));
      assertThat(match.lines().get(0))
          .startsWith("{\"prompt\":0,\"matches\":[{\"dc_id\":")
          .contains(depth(a, 1, 3), depth(b, 3, 3));
      assertThat(match.lines().get(1)).contains(depth(a, 0, 0), depth(b, 0, 0));
      assertThat(match.lines().get(2)).contains(depth(a, 1, 1), depth(b, 1, 1));
    }
  }

  private static String depth(TestRelay relay, int depth, int blocks) {
    return String.format(
        "{\"dc_id\":%s,\"pool\":\"%s\",\"depth\":%d,\"blocks\":%d,",
        Long.toUnsignedString(relay.pool.poolId().dcId().value()),
        relay.pool.poolId(),
        depth,
        blocks);
  }

  @Test
  void hashesAreTakenAsTheyAre() throws IOException {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:match-hashes")) {
      relay.store(Arrays.copyOf(names(BlockSalt.NONE), 2));
      long[] locals = new long[3];
      hasher().localHashes(PROMPT, 0, PROMPT.length, BlockSalt.NONE, locals, 0);
      String line =
          "["
              + String.join(",", LongStream.of(locals).mapToObj(Long::toUnsignedString).toList())
              + "]";

      CommandRun match =
          CommandRun.start(
              "match", export.address().toString(), "--tokens", file(line), "--hashes", "--json");

      assertThat(match.lines()).singleElement().asString().contains(depth(relay, 2, 3));
    }
  }

  @Test
  void theCacheNamespaceSaltsThePrompt() throws IOException {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:match-salt")) {
      relay.store(Arrays.copyOf(names(BlockSalt.of(null, "tenant")), 2));
      String file = file(PROMPT_LINE);
      String uri = export.address().toString();

      CommandRun salted =
          CommandRun.start("match", uri, "--tokens", file, "--cache-namespace", "tenant", "--json");
      CommandRun plain =
          CommandRun.start("match", uri, "--tokens", file, "--model", "alias", "--json");

      assertThat(salted.lines()).singleElement().asString().contains(depth(relay, 2, 3));
      assertThat(plain.lines()).singleElement().asString().contains(depth(relay, 0, 3));
    }
  }

  @Test
  void peopleGetALineForEachPool() throws IOException {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:match-text")) {
      relay.store(Arrays.copyOf(names(BlockSalt.NONE), 2));

      CommandRun match =
          CommandRun.start("match", export.address().toString(), "--tokens", file(PROMPT_LINE));

      assertThat(match.lines()).hasSize(2);
      assertThat(match.lines().get(0)).isEqualTo("prompt 0, 14 tokens");
      assertThat(match.lines().get(1))
          .contains("2 of 3 blocks", "ns.backend.generate@", "READY", "5/100 blocks");
    }
  }

  @Test
  void aModelThatNobodyServesIsOneLineAndExitCodeTwo() throws IOException {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:match-model")) {
      String uri = export.address().toString();
      assertRefused(
          "--model = other: UNKNOWN_MODEL",
          "match",
          uri,
          "--tokens",
          file(PROMPT_LINE),
          "--model",
          "other");
      assertRefused(
          "--lora = other: UNKNOWN_MODEL",
          "match",
          uri,
          "--tokens",
          file(PROMPT_LINE),
          "--lora",
          "other");
    }
  }

  @Test
  void aRelayWithoutAPoolIsWaitedForAndThenReported() throws IOException {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:match-empty")) {
      relay.withdraw();

      CommandRun match =
          CommandRun.start(
              "match", export.address().toString(), "--tokens", file("[]"), "--wait", "1");

      assertThat(match.exitCode()).isEqualTo(1);
      assertThat(match.errors()).hasLineCount(1).contains("no pool in its catalog, after 1 s");
    }
  }

  @Test
  void aRelayThatCannotBeReachedIsOneLineAndExitCodeOne() throws IOException {
    CommandRun match = CommandRun.start("match", "inproc:nobody", "--tokens", file("[]"));

    assertThat(match.exitCode()).isEqualTo(1);
    assertThat(match.errors()).hasLineCount(1).contains("inproc:nobody", "ADDRESS_UNAVAILABLE");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"[1,2,", "{}", "[1] [2]", "[1.5]", "[-1]", "[\"1\"]", "[4294967296]", "", "[[1]]"})
  void aBrokenLineIsNamed(String line) throws IOException {
    assertRefused("prompts.jsonl:2: ", "match", "inproc:x", "--tokens", file("[1]", line));
  }

  @Test
  void badOptionsAreNamed() throws IOException {
    assertRefused("--tokens", "match", "inproc:x");
    assertRefused("missing.jsonl", "match", "inproc:x", "--tokens", "missing.jsonl");
    assertRefused("--wait = 0", "match", "inproc:x", "--tokens", file("[]"), "--wait", "0");
    assertRefused("pigeon:x", "match", "pigeon:x", "--tokens", file("[]"));
    assertRefused(
        "prompts.jsonl:1: number 18446744073709551616",
        "match",
        "inproc:x",
        "--tokens",
        file("[18446744073709551616]"),
        "--hashes");
  }

  private static void assertRefused(String named, String... args) {
    CommandRun run = CommandRun.start(args);
    assertThat(run.exitCode()).as("%s", run.errors()).isEqualTo(2);
    assertThat(run.errors()).hasLineCount(1).startsWith("kvrelay match: ").contains(named);
    assertThat(run.lines()).isEmpty();
  }
}
