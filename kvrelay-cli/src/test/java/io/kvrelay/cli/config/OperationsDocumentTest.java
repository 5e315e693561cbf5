package io.kvrelay.cli.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** docs/operations.md lists exactly the keys that the file may hold. */
class OperationsDocumentTest {
  private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z-]+)` \\|");
  private static final Pattern HEADING = Pattern.compile("(?m)^### `([^`]+)`$");

  private static String document() throws IOException {
    return Files.readString(Path.of("..", "docs", "operations.md"));
  }

  @ParameterizedTest
  @EnumSource(ConfigSection.class)
  void everyKeyIsDescribedAndNoOther(ConfigSection section) throws IOException {
    String heading =
        section == ConfigSection.FILE ? "### The file\n" : "### `" + section.path() + "`\n";
    String document = document();
    int start = document.indexOf(heading);
    assertThat(start).as(heading).isNotNegative();
    int end = document.indexOf("\n#", start + heading.length());
    List<String> described =
        ROW.matcher(document.substring(start, end)).results().map(row -> row.group(1)).toList();
    assertThat(new TreeSet<>(described)).isEqualTo(new TreeSet<>(section.keys()));
    assertThat(described).doesNotHaveDuplicates();
  }

  @Test
  void noOtherPlaceForKeysIsDescribed() throws IOException {
    assertThat(HEADING.matcher(document()).results().map((MatchResult m) -> m.group(1)).toList())
        .containsExactlyElementsOf(
            List.of(ConfigSection.values()).stream()
                .filter(section -> section != ConfigSection.FILE)
                .map(ConfigSection::path)
                .toList());
  }
}
