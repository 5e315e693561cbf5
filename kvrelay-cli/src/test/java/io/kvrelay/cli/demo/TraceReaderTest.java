package io.kvrelay.cli.demo;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.cli.InputException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceReaderTest {
  private static final String GOOD =
      "{\"timestamp\": 5, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [7, 8]}";

  @TempDir private Path folder;

  private Path file(String... lines) throws IOException {
    return Files.write(folder.resolve("trace.jsonl"), List.of(lines));
  }

  @Test
  void readsTheMooncakeForm() throws IOException {
    List<Request> requests =
        TraceReader.read(
            file(
                "{\"timestamp\": 0, \"input_length\": 1536, \"output_length\": 500, \"hash_ids\":"
                    + " [0, 1, 2]}",
                "",
                "{\"hash_ids\":[9223372036854775807],\"extra\":{\"a\":[1]},\"timestamp\":27.5,"
                    + "\"input_length\":600}"),
            Integer.MAX_VALUE);
    assertThat(requests).extracting(Request::timestampMillis).containsExactly(0L, 27L);
    assertThat(requests.get(0).ids()).containsExactly(0, 1, 2);
    assertThat(requests.get(1).ids()).containsExactly(Long.MAX_VALUE);
  }

  @ParameterizedTest
  @CsvSource({"1535, 2", "1536, 3", "1537, 3", "511, 0", "0, 0", "5000, 4"})
  void onlyFullBlocksCount(int inputLength, int blocks) throws IOException {
    Path file =
        file(
            "{\"timestamp\":0,\"input_length\":"
                + inputLength
                + ",\"output_length\":1,\"hash_ids\":[1,2,3,4]}");
    assertThat(TraceReader.read(file, 1).get(0).ids()).hasSize(blocks);
  }

  @Test
  void readsNoFurtherThanItMust() throws IOException {
    assertThat(TraceReader.read(file(GOOD, GOOD, "broken"), 2)).hasSize(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"timestamp\":0,\"input_length\":-3,\"hash_ids\":[]}     | input_length = -3: must lie"
            + " in",
        "{\"timestamp\":0,\"input_length\":3000000000,\"hash_ids\":[]} | input_length = 3000000000",
        "{\"timestamp\":0,\"input_length\":1,\"hash_ids\":[1,-]}   | \"hash_ids\":[1,-]",
        "{\"timestamp\":0,\"input_length\":1,\"hash_ids\":[1,2.5]} | hash_ids[1] = 2.5: must be a"
            + " whole",
        "{\"timestamp\":0,\"input_length\":1,\"hash_ids\":7}       | hash_ids = 7: must be an"
            + " array",
        "{\"timestamp\":\"x\",\"input_length\":1,\"hash_ids\":[]}  | timestamp = x: must be a"
            + " number",
        "{\"timestamp\":null,\"input_length\":1,\"hash_ids\":[]}   | timestamp = null: must be a"
            + " number",
        "{\"timestamp\":4,\"input_length\":1,\"hash_ids\":[]}      | timestamp = 4: must not be"
            + " before",
        "{\"input_length\":1,\"hash_ids\":[]}                      | timestamp is missing",
        "{\"timestamp\":9,\"hash_ids\":[]}                         | input_length is missing",
        "{\"timestamp\":9,\"input_length\":1}                      | hash_ids is missing",
        "{\"timestamp\":9,\"input_length\":1,                      | {\"timestamp\":9",
        "[1]                                                       | not one JSON object: [1]",
        "{} {}                                                     | not one JSON object: {} {}",
        "hello                                                     | hello",
      })
  void saysWhatIsWrongInWhichLine(String line, String message) throws IOException {
    Path file = file(GOOD, line);
    assertThatThrownBy(() -> TraceReader.read(file, 9))
        .isInstanceOf(InputException.class)
        .hasMessageStartingWith(file + ":2: ")
        .hasMessageContaining(message);
  }

  @Test
  void shortensAnEndlessValue() throws IOException {
    Path file = file("x".repeat(1_000_000));
    assertThatThrownBy(() -> TraceReader.read(file, 9))
        .isInstanceOf(InputException.class)
        .extracting(e -> String.valueOf(e.getMessage()).length())
        .matches(length -> (int) length < 500);
  }

  @Test
  void refusesWhatIsNoTrace() throws IOException {
    assertThatThrownBy(() -> TraceReader.read(folder.resolve("none"), 9))
        .isInstanceOf(InputException.class)
        .hasMessage("--trace = " + folder.resolve("none") + ": no such file");
    assertThatThrownBy(() -> TraceReader.read(folder, 9))
        .isInstanceOf(InputException.class)
        .hasMessage("--trace = " + folder + ": not a file");
    Path empty = file("", " ");
    assertThatThrownBy(() -> TraceReader.read(empty, 9))
        .isInstanceOf(InputException.class)
        .hasMessageContaining("holds no request");
    Path binary = Files.write(folder.resolve("binary"), "\u00ff\u00fe\n".getBytes(ISO_8859_1));
    assertThatThrownBy(() -> TraceReader.read(binary, 9))
        .isInstanceOf(InputException.class)
        .hasMessage(binary + ":1: not UTF-8 text");
  }
}
