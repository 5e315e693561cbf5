package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of requirements and the tests are the same list. */
class UsersAskDocumentTest {
  private static final Pattern ROW = Pattern.compile("(?m)^\\| ([CEJ]\\d) \\|.*\\| `(\\w+)` \\|$");

  @Test
  void everyRequirementHasATestAndEveryTestARow() throws IOException {
    String document = Files.readString(Path.of("../docs/users-ask.md"));
    Set<String> listed = new TreeSet<>();
    Set<String> requirements = new TreeSet<>();
    for (MatchResult row : ROW.matcher(document).results().toList()) {
      requirements.add(row.group(1));
      assertThat(row.group(2)).startsWith(row.group(1).toLowerCase(Locale.ROOT) + "_");
      listed.add(row.group(2));
    }
    Set<String> tests = new TreeSet<>();
    Stream.of(UsersAskTest.class, UsersAskAtScaleTest.class)
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> method.isAnnotationPresent(Test.class))
        .forEach(method -> tests.add(method.getName()));

    assertThat(listed).isEqualTo(tests);
    assertThat(requirements).isEqualTo(numbered("C", 8, "E", 5, "J", 9));
  }

  private static Set<String> numbered(Object... groups) {
    Set<String> all = new TreeSet<>();
    for (int i = 0; i < groups.length; i += 2) {
      Object letter = groups[i];
      IntStream.rangeClosed(1, (Integer) groups[i + 1]).forEach(n -> all.add(letter + "" + n));
    }
    return all;
  }
}
