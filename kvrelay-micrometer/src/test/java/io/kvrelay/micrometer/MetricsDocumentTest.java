package io.kvrelay.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/operations.md lists exactly the meters there are, with type, unit and tags. */
class MetricsDocumentTest {
  private static final Pattern ROW =
      Pattern.compile(
          "(?m)^\\| `(kvrelay\\.[a-z.]+)` \\| (\\w+) \\| ([^|]*) \\| ([^|]*) \\| [^|]+ \\|$");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  private static final Set<String> OF_THE_COMMAND_LINE =
      Set.of(
          "kvrelay.config.current",
          "kvrelay.config.versions",
          "kvrelay.engine",
          "kvrelay.http.clears.refused");

  @Test
  void theDocumentListsEveryMeterAndNoOther() throws IOException {
    TreeMap<String, String> documented = new TreeMap<>();
    Matcher rows = ROW.matcher(document());
    while (rows.find()) {
      if (!OF_THE_COMMAND_LINE.contains(rows.group(1))) {
        Set<String> tags = new TreeSet<>();
        CODE.matcher(rows.group(4)).results().forEach(tag -> tags.add(tag.group(1)));
        documented.put(rows.group(1), rows.group(2) + " " + rows.group(3).strip() + " " + tags);
      }
    }
    TreeMap<String, String> real = new TreeMap<>();
    RelayMeters.RELAY.forEach(spec -> real.put(spec.name(), describe(spec, Set.of())));
    PoolMeters.ALL.forEach(spec -> real.put(spec.name(), describe(spec, Set.of("endpoint"))));
    ViewMeters.ALL.forEach(spec -> real.put(spec.name(), describe(spec, Set.of())));
    assertThat(documented).isEqualTo(real);
  }

  private static String describe(MeterSpec<?> spec, Set<String> more) {
    Set<String> tags = new TreeSet<>(more);
    spec.series().forEach(series -> series.tags().forEach(tag -> tags.add(tag.getKey())));
    String unit = spec.unit() == null ? "" : spec.unit();
    return (spec.counter() ? "counter" : "gauge") + " " + unit + " " + tags;
  }

  /** A tag's values are listed where they are an enumeration. */
  @Test
  void theDocumentNamesEveryValueOfATag() throws IOException {
    String document = document();
    List<String> missing = new ArrayList<>();
    List<MeterSpec<?>> all = new ArrayList<>(RelayMeters.RELAY);
    all.addAll(PoolMeters.ALL);
    for (MeterSpec<?> spec : all) {
      spec.series()
          .forEach(
              series ->
                  series
                      .tags()
                      .forEach(
                          tag -> {
                            if (!document.contains('`' + tag.getValue() + '`')) {
                              missing.add(spec.name() + " " + tag);
                            }
                          }));
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void everyMeterHasOneNameAndSaysWhatItIs() {
    List<String> names = new ArrayList<>();
    RelayMeters.RELAY.forEach(spec -> names.add(spec.name()));
    PoolMeters.ALL.forEach(spec -> names.add(spec.name()));
    ViewMeters.ALL.forEach(spec -> names.add(spec.name()));
    assertThat(names).doesNotHaveDuplicates();
  }

  private static String document() throws IOException {
    return Files.readString(Path.of("..", "docs", "operations.md"));
  }
}
