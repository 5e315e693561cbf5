package io.kvrelay.cli.config;

import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Everything that is wrong with one version of one file, in the order of its lines. */
final class ConfigProblems {
  private record Problem(int line, String text) {}

  private final String file;
  // What several workers share is looked at for each of them, and told once.
  private final Set<Problem> problems = new LinkedHashSet<>();

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
    add(line, field + " = " + value + ": " + what);
  }

  void add(int line, String text) {
    problems.add(new Problem(line, text));
  }

  boolean isEmpty() {
    return problems.isEmpty();
  }

  /** One line each: file, line, field, value, what is wrong. */
  List<String> lines() {
    return problems.stream()
        .sorted(Comparator.comparingInt(Problem::line))
        .map(problem -> file + ":" + problem.line() + ": " + problem.text())
        .toList();
  }
}
