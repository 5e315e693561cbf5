package io.kvrelay.cli.config;

import io.kvrelay.api.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * One mapping of the file. Reading a value that is not acceptable notes the problem and answers
 * with the default, so that one pass finds all problems.
 */
final class Section {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,12})(us|ms|s|m|h)");
  private static final Duration LONGEST = Duration.ofDays(365);

  private final ConfigProblems problems;
  private final ConfigSection kind;
  private final String path;
  private final int line;
  private final Map<String, Node> values = new LinkedHashMap<>();

  private Section(
      ConfigProblems problems, ConfigSection kind, String path, @Nullable Node node, int line) {
    this.problems = problems;
    this.kind = kind;
    this.path = path;
    this.line = line;
    if (node instanceof MappingNode mapping) {
      mapping.getValue().forEach(this::take);
    } else if (node != null) {
      problems.add(line, path.isEmpty() ? "the file" : path, shown(node), "must be a mapping");
    }
  }

  static Section root(ConfigProblems problems, @Nullable Node node) {
    return new Section(problems, ConfigSection.FILE, "", node, node == null ? 1 : lineOf(node));
  }

  private void take(NodeTuple entry) {
    Node key = entry.getKeyNode();
    String name = key instanceof ScalarNode scalar ? scalar.getValue() : shown(key);
    if (!kind.keys().contains(name)) {
      String nearest = Spelling.nearest(name, kind.keys());
      String hint =
          nearest == null ? "known keys are " + kind.keys() : "did you mean " + nearest + "?";
      problems.add(
          lineOf(key),
          field(ConfigProblems.shown(name)),
          shown(entry.getValueNode()),
          "unknown key; " + hint);
    } else if (values.putIfAbsent(name, entry.getValueNode()) != null) {
      problems.add(lineOf(key), field(name), shown(entry.getValueNode()), "stands here twice");
    }
  }

  String path() {
    return path;
  }

  int line() {
    return line;
  }

  int line(String key) {
    Node node = values.get(key);
    return node == null ? line : lineOf(node);
  }

  String field(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  boolean has(String key) {
    return find(key) != null;
  }

  /** Notes a problem with a key's value. */
  void refuse(String key, Object value, String what) {
    problems.add(line(key), field(key), value, what);
  }

  private void missing(String key) {
    problems.add(line, field(key) + ": is missing");
  }

  private @Nullable Node find(String key) {
    if (!kind.keys().contains(key)) {
      throw new IllegalArgumentException(kind + " has no key " + key);
    }
    Node node = values.get(key);
    boolean empty = node instanceof ScalarNode && node.getTag().equals(Tag.NULL);
    return empty ? null : node;
  }

  private @Nullable String scalar(String key) {
    Node node = find(key);
    if (node instanceof ScalarNode scalar) {
      return scalar.getValue();
    }
    if (node != null) {
      refuse(key, shown(node), "must be a single value");
    }
    return null;
  }

  /** Any text, or null if there is none. */
  @Nullable String text(String key) {
    return scalar(key);
  }

  /** A name: neither empty nor surrounded by white space; the default if there is none. */
  String name(String key, String otherwise) {
    String text = scalar(key);
    if (text == null) {
      return otherwise;
    }
    if (!Text.isValid(text)) {
      refuse(key, '"' + text + '"', "must not be empty or surrounded by white space");
    }
    return text;
  }

  String requiredName(String key) {
    if (!has(key)) {
      missing(key);
    }
    return name(key, "?");
  }

  /** What a function makes of a text; null if there is none or it is not acceptable. */
  <T> @Nullable T parsed(String key, Function<String, T> parser) {
    String text = scalar(key);
    if (text == null) {
      return null;
    }
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      refuse(
          key, text, message.substring(message.indexOf(": ") < 0 ? 0 : message.indexOf(": ") + 2));
      return null;
    }
  }

  <T> @Nullable T requiredParsed(String key, Function<String, T> parser) {
    if (!has(key)) {
      missing(key);
    }
    return parsed(key, parser);
  }

  boolean flag(String key, boolean otherwise) {
    String text = scalar(key);
    if (text == null) {
      return otherwise;
    }
    if (!text.equals("true") && !text.equals("false")) {
      refuse(key, text, "must be true or false");
    }
    return text.equals("true");
  }

  /** A number from min to max. */
  long number(String key, long otherwise, long min, long max) {
    String text = scalar(key);
    if (text == null) {
      return otherwise;
    }
    try {
      long value = Long.parseLong(text);
      if (value >= min && value <= max) {
        return value;
      }
    } catch (NumberFormatException e) {
      // told below, like a number that is out of range
    }
    refuse(key, text, "must be a number from " + min + " to " + max);
    return otherwise;
  }

  long requiredNumber(String key, long min, long max) {
    if (!has(key)) {
      missing(key);
    }
    return number(key, min, min, max);
  }

  /** An unsigned 64-bit number, decimal or hexadecimal after {@code 0x}. */
  OptionalLong unsigned(String key) {
    String text = scalar(key);
    if (text == null) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of(
          text.startsWith("0x")
              ? Long.parseUnsignedLong(text.substring(2), 16)
              : Long.parseUnsignedLong(text));
    } catch (NumberFormatException e) {
      refuse(key, text, "must be an unsigned 64-bit number");
      return OptionalLong.empty();
    }
  }

  OptionalLong requiredUnsigned(String key) {
    if (!has(key)) {
      missing(key);
    }
    return unsigned(key);
  }

  /** A positive duration such as 500us, 1ms, 30s, 5m, 1h. */
  @Nullable Duration duration(String key) {
    String text = scalar(key);
    if (text == null) {
      return null;
    }
    Matcher parts = DURATION.matcher(text);
    Duration value = parts.matches() ? of(Long.parseLong(parts.group(1)), parts.group(2)) : null;
    if (value == null || value.isZero() || value.compareTo(LONGEST) > 0) {
      refuse(
          key,
          text,
          "must be a positive duration such as 500us, 1ms, 30s, 5m or 1h, at most a year");
      return null;
    }
    return value;
  }

  private static Duration of(long count, String unit) {
    return switch (unit) {
      case "us" -> Duration.ofNanos(count * 1000);
      case "ms" -> Duration.ofMillis(count);
      case "s" -> Duration.ofSeconds(count);
      case "m" -> Duration.ofMinutes(count);
      default -> Duration.ofHours(count);
    };
  }

  /** One of some words. */
  <T> @Nullable T oneOf(String key, Map<String, T> words) {
    String text = scalar(key);
    T value = text == null ? null : words.get(text);
    if (text != null && value == null) {
      refuse(key, text, "must be one of " + String.join(", ", words.keySet()));
    }
    return value;
  }

  /** A list of names. */
  List<String> names(String key) {
    List<String> names = new ArrayList<>();
    for (Node item : items(key)) {
      if (!(item instanceof ScalarNode scalar) || !Text.isValid(scalar.getValue())) {
        problems.add(
            lineOf(item),
            field(key),
            shown(item),
            "must be a name, not empty or surrounded by white space");
      } else if (names.contains(scalar.getValue())) {
        problems.add(lineOf(item), field(key), scalar.getValue(), "stands in the list twice");
      } else {
        names.add(scalar.getValue());
      }
    }
    return names;
  }

  /** A list of lists of words. */
  <T> List<List<T>> alternatives(String key, Map<String, T> words) {
    List<List<T>> alternatives = new ArrayList<>();
    for (Node item : items(key)) {
      if (!(item instanceof SequenceNode list) || list.getValue().isEmpty()) {
        problems.add(lineOf(item), field(key), shown(item), "must be a list that is not empty");
        continue;
      }
      List<T> alternative = new ArrayList<>();
      for (Node each : list.getValue()) {
        T word = each instanceof ScalarNode scalar ? words.get(scalar.getValue()) : null;
        if (word == null) {
          problems.add(
              lineOf(each),
              field(key),
              shown(each),
              "must be one of " + String.join(", ", words.keySet()));
        } else {
          alternative.add(word);
        }
      }
      alternatives.add(alternative);
    }
    return alternatives;
  }

  private List<Node> items(String key) {
    Node node = find(key);
    if (node instanceof SequenceNode list) {
      return list.getValue();
    }
    if (node != null) {
      refuse(key, shown(node), "must be a list");
    }
    return List.of();
  }

  /** A mapping of texts; null if there is none. */
  @Nullable Map<String, String> texts(String key) {
    Node node = find(key);
    if (node == null) {
      return null;
    }
    Map<String, String> texts = new LinkedHashMap<>();
    if (!(node instanceof MappingNode mapping)) {
      refuse(key, shown(node), "must be a mapping of texts");
      return texts;
    }
    for (NodeTuple entry : mapping.getValue()) {
      if (!(entry.getKeyNode() instanceof ScalarNode name)
          || !(entry.getValueNode() instanceof ScalarNode value)) {
        problems.add(
            lineOf(entry.getKeyNode()), field(key), shown(entry.getValueNode()), "must be a text");
      } else if (texts.putIfAbsent(name.getValue(), value.getValue()) != null) {
        problems.add(
            lineOf(name),
            field(key) + "." + name.getValue(),
            value.getValue(),
            "stands here twice");
      }
    }
    return texts;
  }

  /** A mapping; one without keys if there is none. */
  Section section(String key, ConfigSection of) {
    Node node = find(key);
    return new Section(problems, of, field(key), node, node == null ? line : lineOf(node));
  }

  /** A list of mappings. */
  List<Section> sections(String key, ConfigSection of) {
    List<Section> sections = new ArrayList<>();
    for (Node item : items(key)) {
      String where = field(key) + "[" + sections.size() + "]";
      sections.add(new Section(problems, of, where, item, lineOf(item)));
    }
    return sections;
  }

  private static int lineOf(Node node) {
    return node.getStartMark().map(mark -> mark.getLine() + 1).orElse(1);
  }

  private static String shown(Node node) {
    if (node instanceof ScalarNode scalar) {
      return node.getTag().equals(Tag.NULL) ? "nothing" : scalar.getValue();
    }
    return node instanceof SequenceNode ? "a list" : "a mapping";
  }
}
