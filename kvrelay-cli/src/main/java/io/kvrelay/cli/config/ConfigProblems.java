package io.kvrelay.cli.config;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Everything that is wrong with one version of one file, in the order of its lines. */
final class ConfigProblems {
  /** Problems that are told of one version; a file that is wrong throughout has no use for more. */
  static final int MAX_PROBLEMS = 1000;

  private static final int MAX_SHOWN = 200;

  private record Problem(int line, String text) {}

  private final String file;
  // What several workers share is looked at for each of them, and told once.
  private final Set<Problem> problems = new LinkedHashSet<>();
  private boolean more;

  ConfigProblems(String file) {
    this.file = file;
  }

  /**
   * Notes one.
   *
   * @param line the line, from 1
   * @param field the field, from the file's root
   * @param value what it holds
   * @param what what is wrong with that
   */
  void add(int line, String field, Object value, String what) {
    add(line, field + " = " + shown(value) + ": " + what);
  }

  /** On one line, and not longer than it takes to find the place. */
  static String shown(Object value) {
    String text = String.valueOf(value);
    String some = text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "...";
    return some.replaceAll("\\R", " ");
  }

  void add(int line, String text) {
    Problem problem = new Problem(line, text);
    if (problems.size() < MAX_PROBLEMS) {
      problems.add(problem);
    } else {
      more |= !problems.contains(problem);
    }
  }

  boolean isEmpty() {
    return problems.isEmpty();
  }

  /** One line each: file, line, field, value, what is wrong. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    problems.stream()
        .sorted(Comparator.comparingInt(Problem::line))
        .forEach(problem -> lines.add(file + ":" + problem.line() + ": " + problem.text()));
    if (more) {
      lines.add(file + ":1: more than " + MAX_PROBLEMS + " problems, the others are not told");
    }
    return lines;
  }
}
