package io.kvrelay.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.temporal.ChronoUnit;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Puts everything that is logged through {@code System.Logger} on standard error, one line a
 * record: time, level, logger, message, and the failure if there is one. Closing puts back what was
 * there before.
 */
final class RelayLog extends Handler implements AutoCloseable {
  /** Form of a line. */
  enum Form {
    TEXT,
    JSON
  }

  private final Form form;
  private final PrintWriter out;
  private final Logger root;
  private final Handler[] before;
  private final Formatter messages =
      new Formatter() {
        @Override
        public String format(LogRecord record) {
          return formatMessage(record);
        }
      };

  private RelayLog(Form form, PrintWriter out, Logger root) {
    this.form = form;
    this.out = out;
    this.root = root;
    this.before = root.getHandlers();
  }

  static RelayLog install(Form form, PrintWriter out) {
    RelayLog log = new RelayLog(form, out, Logger.getLogger(""));
    for (Handler handler : log.before) {
      log.root.removeHandler(handler);
    }
    log.root.addHandler(log);
    return log;
  }

  /** Tells whoever started the process something, in the form of the log. */
  void say(String message) {
    LogRecord record = new LogRecord(Level.INFO, message);
    record.setLoggerName("kvrelay.relay");
    publish(record);
  }

  @Override
  public void publish(LogRecord record) {
    out.println(form == Form.JSON ? json(record) : text(record));
  }

  private String text(LogRecord record) {
    String line =
        String.join(
            " ",
            time(record),
            record.getLevel().getName(),
            String.valueOf(record.getLoggerName()),
            oneLine(messages.format(record)));
    Throwable failure = record.getThrown();
    return failure == null ? line : line + " failure=" + oneLine(trace(failure));
  }

  private String json(LogRecord record) {
    return JsonLine.of(
        json -> {
          json.writeStringField("time", time(record));
          json.writeStringField("level", record.getLevel().getName());
          json.writeStringField("logger", String.valueOf(record.getLoggerName()));
          json.writeStringField("message", messages.format(record));
          Throwable failure = record.getThrown();
          if (failure != null) {
            json.writeStringField("failure", trace(failure));
          }
        });
  }

  private static String time(LogRecord record) {
    return record.getInstant().truncatedTo(ChronoUnit.MILLIS).toString();
  }

  private static String trace(Throwable failure) {
    StringWriter text = new StringWriter();
    failure.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }

  private static String oneLine(String text) {
    return text.strip().replaceAll("\\R\\s*", " | ");
  }

  @Override
  public void flush() {
    out.flush();
  }

  @Override
  public void close() {
    root.removeHandler(this);
    for (Handler handler : before) {
      root.addHandler(handler);
    }
  }
}
