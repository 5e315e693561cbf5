package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DocumentsTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:|#)([^)#\\s]+)");
  private static final Pattern ANCHOR =
      Pattern.compile("\\]\\((?!https?:)([^)#\\s]*)#([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");

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

  @Test
  void everyLinkIntoADocumentMeetsAHeading() throws IOException {
    List<String> dead =
        documents().stream()
            .flatMap(
                document ->
                    ANCHOR
                        .matcher(read(document))
                        .results()
                        .filter(link -> !anchors(target(document, link)).contains(link.group(2)))
                        .map(link -> ROOT.relativize(document) + " -> " + link.group()))
            .toList();

    assertThat(dead).isEmpty();
  }

  @Test
  void theIndexListsEveryDocument() throws IOException {
    Path index = ROOT.resolve("docs/README.md");
    List<String> listed = links(index).toList();
    try (Stream<Path> files = Files.list(index.getParent())) {
      assertThat(files.filter(file -> file.toString().endsWith(".md") && !file.equals(index)))
          .isNotEmpty()
          .allMatch(file -> listed.contains(file.getFileName().toString()));
    }
  }

  private static Path target(Path document, MatchResult link) {
    return link.group(1).isEmpty() ? document : document.resolveSibling(link.group(1));
  }

  /** As the usual renderers make them: lower case, hyphens for blanks, no punctuation. */
  private static List<String> anchors(Path document) {
    return HEADING
        .matcher(read(document))
        .results()
        .map(heading -> heading.group(1).toLowerCase(Locale.ROOT))
        .map(text -> text.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'))
        .toList();
  }

  private static List<Path> documents() throws IOException {
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      return Stream.concat(top, docs).filter(file -> file.toString().endsWith(".md")).toList();
    }
  }

  private static Stream<String> links(Path document) {
    return LINK.matcher(read(document)).results().map(link -> link.group(1));
  }

  private static String read(Path document) {
    try {
      return Files.readString(document);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
