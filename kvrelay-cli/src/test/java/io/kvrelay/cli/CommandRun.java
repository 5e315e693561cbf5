package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A command that runs beside the test, which reads its lines as they come. */
final class CommandRun {
  private static final long PATIENCE_SECONDS = 60;

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final BlockingQueue<String> errorLines = new LinkedBlockingQueue<>();
  private final List<String> seenErrors = new CopyOnWriteArrayList<>();
  private final List<String> seen = new ArrayList<>();
  private final CompletableFuture<Integer> exit = new CompletableFuture<>();
  private final Thread thread;

  private CommandRun(String... args) {
    PrintWriter out = new PrintWriter(new Lines(lines), true);
    PrintWriter err = new PrintWriter(new Lines(errorLines), true);
    thread =
        new Thread(
            () -> exit.completeAsync(() -> Main.run(out, err, args), Runnable::run), "command");
    thread.start();
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
    return await(lines, seen, text);
  }

  /** The next line on standard error that holds a text. */
  String awaitError(String text) {
    return await(errorLines, seenErrors, text);
  }

  private String await(BlockingQueue<String> from, List<String> read, String text) {
    try {
      while (true) {
        String line = from.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(line).as("%s; so far %s, errors %s", text, read, errorLines).isNotNull();
        read.add(line);
        if (line.contains(text)) {
          return line;
        }
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** What Ctrl-C does to a process. */
  void interrupt() {
    thread.interrupt();
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
    errorLines.drainTo(seenErrors);
    return String.join("\n", seenErrors);
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

  private static final class Lines extends Writer {
    private final BlockingQueue<String> lines;
    private final StringBuilder current = new StringBuilder();

    Lines(BlockingQueue<String> lines) {
      this.lines = lines;
    }

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
