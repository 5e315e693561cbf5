package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplayCommandTest {
  private static final String STORED =
      "{\"worker_id\":1,\"event\":{\"event_id\":1,\"data\":{\"stored\":{\"blocks\":["
          + "{\"block_hash\":1,\"tokens_hash\":1},{\"block_hash\":2,\"tokens_hash\":2},"
          + "{\"block_hash\":3,\"tokens_hash\":3}]}}}}";
  private static final String ORPHAN =
      "{\"worker_id\":1,\"event\":{\"event_id\":2,\"data\":{\"stored\":{\"parent_hash\":9,"
          + "\"blocks\":[{\"block_hash\":4,\"tokens_hash\":4}]}}}}";
  private static final String ON_DISK =
      "{\"worker_id\":1,\"storage_tier\":\"disk\",\"event\":{\"event_id\":3,\"data\":"
          + "{\"removed\":{\"block_hashes\":[1]}}}}";
  private static final String UNKNOWN =
      "{\"worker_id\":2,\"event\":{\"event_id\":3,\"data\":{\"removed\":{\"block_hashes\":[1]}}}}";

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir private Path directory;
  private String events = "";

  @BeforeEach
  void record() throws IOException {
    Path file = directory.resolve("events.jsonl");
    Files.write(file, List.of(STORED, ORPHAN, ON_DISK, UNKNOWN));
    events = file.toString();
  }

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  void theObjectHoldsEveryNumberAndNothingElseIsPrinted() {
    assertThat(run("replay", events, "--expected-blocks", "32", "--json", "--rounds", "2"))
        .isZero();

    // The words are those of the vector: a chain of the local hashes 1, 2, 3 in 16 buckets.
    assertThat(out.toString())
        .hasLineCount(1)
        .startsWith("{\"events\":4,\"block_ops\":6,\"seconds\":")
        .contains("\"mops\":")
        .contains(
            "\"images\":3,\"contributions\":3,\"unique\":3,\"occupied_slots\":3,"
                + "\"capacity_failures\":0,\"parent_not_found\":1,\"unknown_removals\":1,"
                + "\"errors\":{\"ParentBlockNotFound\":1},\"ignored\":{\"non_primary_tier\":1},"
                + "\"state_bytes\":")
        .contains("\"buckets\":16,\"words_xxh3\":\"6c9de218b7d7bcc2\"}");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void theTableHoldsTheSame() {
    assertThat(run("replay", events)).isZero();

    assertThat(out.toString()).contains("contributions      3").contains("ParentBlockNotFound=1");
  }

  @Test
  void theWordsCanBeDumped() throws IOException {
    Path dump = directory.resolve("words");

    assertThat(run("replay", events, "--expected-blocks", "32", "--dump", dump.toString()))
        .isZero();

    byte[] words = Files.readAllBytes(dump);
    assertThat(words).hasSize(16 * 8);
    assertThat((words[16] & 0xFF) | ((words[17] & 0xFF) << 8)).isEqualTo(0xb8d3);
  }

  @ParameterizedTest
  @CsvSource({
    "--expected-blocks, 0",
    "--expected-blocks, 53687092",
    "--expected-blocks, many",
    "--flush-every, 0",
    "--rounds, -1",
    "--dump, /no/such/directory/file"
  })
  void aBadOptionIsOneLineThatNamesItAndItsValue(String option, String value) {
    assertThat(run("replay", events, option, value)).isEqualTo(2);

    assertThat(err.toString()).hasLineCount(1).contains(option).contains(value);
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aBrokenLineIsOneLineThatNamesItsNumber() throws IOException {
    Files.write(Path.of(events), List.of(STORED, "{\"worker_id\":true}"));

    assertThat(run("replay", events, "--json")).isEqualTo(2);

    assertThat(err.toString())
        .hasLineCount(1)
        .contains("events.jsonl:2: worker_id = true: is no integer");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void anEmptyRecordingIsAnEmptyPool() throws IOException {
    Files.write(Path.of(events), List.of());

    assertThat(run("replay", events, "--json")).isZero();
    assertThat(out.toString()).contains("\"events\":0").contains("\"contributions\":0");
  }
}
