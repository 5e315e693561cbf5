package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A command that runs beside the test, which reads its lines as they come. */
final class CommandRun {
  private static final long PATIENCE_SECONDS = 60;

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final StringWriter err = new StringWriter();
  private final List<String> seen = new ArrayList<>();
  private final CompletableFuture<Integer> exit;

  private CommandRun(String... args) {
    exit =
        CompletableFuture.supplyAsync(
            () -> Main.run(new PrintWriter(new Lines(), true), new PrintWriter(err, true), args),
            task -> new Thread(task, "command").start());
  }

  static CommandRun start(String... args) {
    return new CommandRun(args);
  }

  /** A line that holds a text, whether it has been read before or comes later. */
  String awaitOnce(String text) {
    return seen.stream()
        .filter(line -> line.contains(text))
        .findFirst()
        .orElseGet(() -> await(text));
  }

  /** The next line that holds a text. */
  String await(String text) {
    return await(line -> line.contains(text), text);
  }

  private String await(Predicate<String> wanted, String what) {
    try {
      while (true) {
        String line = lines.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(line).as("%s; so far %s, errors %s", what, seen, err).isNotNull();
        seen.add(line);
        if (wanted.test(line)) {
          return line;
        }
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  int exitCode() {
    return exit.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
  }

  List<String> lines() {
    exitCode();
    lines.drainTo(seen);
    return seen;
  }

  String errors() {
    exitCode();
    return err.toString();
  }

  /** Fails if a line is not exactly one JSON object. */
  static void assertJson(String line) {
    try (JsonParser parser = new JsonFactory().createParser(line)) {
      int depth = 0;
      assertThat(parser.nextToken().isStructStart()).isTrue();
      do {
        depth += parser.currentToken().isStructStart() ? 1 : 0;
        depth -= parser.currentToken().isStructEnd() ? 1 : 0;
      } while (parser.nextToken() != null);
      assertThat(depth).isZero();
    } catch (IOException e) {
      throw new UncheckedIOException(line, e);
    }
  }

  private final class Lines extends Writer {
    private final StringBuilder current = new StringBuilder();

    @Override
    public void write(char[] text, int offset, int length) {
      for (int i = offset; i < offset + length; i++) {
        if (text[i] == '\n') {
          lines.add(current.toString().strip());
          current.setLength(0);
        } else {
          current.append(text[i]);
        }
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
