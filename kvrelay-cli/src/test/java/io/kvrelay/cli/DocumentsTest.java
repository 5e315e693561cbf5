package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DocumentsTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:|#)([^)#\\s]+)");

  @Test
  void everyLinkBetweenDocumentsLeadsSomewhere() throws IOException {
    List<String> dead =
        documents().stream()
            .flatMap(
                document ->
                    links(document)
                        .filter(link -> !Files.exists(document.resolveSibling(link)))
                        .map(link -> ROOT.relativize(document) + " -> " + link))
            .toList();

    assertThat(dead).isEmpty();
  }

  private static List<Path> documents() throws IOException {
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      return Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).toList();
    }
  }

  private static Stream<String> links(Path document) {
    try {
      return LINK.matcher(Files.readString(document)).results().map(DocumentsTest::target);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String target(MatchResult link) {
    return link.group(1);
  }
}
