package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class MainTest {

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  void anUnknownOptionIsOneLineThatNamesIt() {
    assertThat(run("--no-such-option")).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).startsWith("kvrelay: ").contains("--no-such-option");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void anUnknownCommandIsOneLineThatNamesIt() {
    assertThat(run("no-such-command")).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).contains("no-such-command");
  }

  @Test
  void anUnknownCommandHasNoHelp() {
    assertThat(run("no-such-command", "--help")).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).contains("no-such-command");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aCommandThatExistsHasHelp() {
    assertThat(run("demo", "--help")).isZero();
    assertThat(out.toString()).contains("Usage: kvrelay demo");
  }

  @Test
  void aMissingCommandPointsToTheHelp() {
    assertThat(run()).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).contains("--help");
  }

  @Test
  void helpGoesToStandardOutput() {
    assertThat(run("--help")).isZero();
    assertThat(out.toString()).contains("Usage: kvrelay");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void theVersionNamesTheProgram() {
    assertThat(run("--version")).isZero();
    assertThat(out.toString()).startsWith("kvrelay ");
  }
}
