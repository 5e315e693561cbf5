package io.kvrelay.benchmarks;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IngestArgumentsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "many|64|3|EXPECTED = many: is no number",
        "0|64|3|EXPECTED = 0: must be in 1..53687091",
        "1000|often|3|FLUSH = often: is no number",
        "1000|0|3|FLUSH = 0: must be in 1..2147483647",
        "1000|64|few|ROUNDS = few: is no number",
        "1000|64|0|ROUNDS = 0: must be in 1..2147483647",
        "1000|64|2147483648|ROUNDS = 2147483648: must be in 1..2147483647"
      })
  void whatIngestCannotUseIsReportedWithTheArgumentsName(
      String expected, String flush, String rounds, String message) {
    assertThatThrownBy(
            () -> Ingest.run(new String[] {"no-such-file.jsonl", expected, flush, rounds}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "one|1||||SEED = one: is no number",
        "1|some||||FILES = some: is no number",
        "1|-1||||FILES = -1: must be in 0..2147483647",
        "1|0|a.bin|x|64|EXPECTED = x: is no number",
        "1|0|a.bin|100|y|FLUSH = y: is no number"
      })
  void whatIngestCompareCannotUseIsReportedWithTheArgumentsName(
      String seed, String files, String file, String expected, String flush, String message) {
    String[] args =
        file == null
            ? new String[] {"peer", seed, files}
            : new String[] {"peer", seed, files, file, expected, flush};
    assertThatThrownBy(() -> IngestCompare.run(args))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
