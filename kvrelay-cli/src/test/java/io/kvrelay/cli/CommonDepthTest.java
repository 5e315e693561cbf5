package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

class CommonDepthTest {

  /** Rows of the contract's search vectors: 1 is a hit. */
  @ParameterizedTest
  @CsvFileSource(resources = "/depths.csv", useHeadersInDisplayName = true)
  void rowsWithHolesHaveTheReferencesDepth(String row, int window, int depth) {
    assertThat(depth(row, window)).isEqualTo(depth);
  }

  private static int depth(String row, int window) {
    return CommonDepth.of(row.length(), window, i -> row.charAt(i) == '1');
  }

  @Test
  void rowsWithoutHolesHaveTheNumberOfTheirHits() {
    SplittableRandom random = new SplittableRandom(1);
    for (int length = 0; length < 200; length++) {
      int hits = random.nextInt(length + 1);
      String row = "1".repeat(hits) + "0".repeat(length - hits);
      assertThat(depth(row, 1 + random.nextInt(8))).as(row).isEqualTo(hits);
    }
  }
}
