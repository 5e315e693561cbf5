package io.kvrelay.cli.config;

import java.util.List;

/** The file cannot be used. */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> problems;

  ConfigException(List<String> problems) {
    super(String.join("\n", problems));
    this.problems = List.copyOf(problems);
  }

  /** Everything that is wrong, a line each. */
  public List<String> problems() {
    return problems;
  }
}
