package io.kvrelay.engine.testing;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What a class or a package logs while this is open; the console does not show it. */
public final class RecordedLog extends Handler implements AutoCloseable {
  private final Logger logger;
  private final List<LogRecord> records = new CopyOnWriteArrayList<>();

  private RecordedLog(Logger logger) {
    this.logger = logger;
  }

  public static RecordedLog of(Class<?> type) {
    return of(type.getName());
  }

  public static RecordedLog of(String logger) {
    RecordedLog log = new RecordedLog(Logger.getLogger(logger));
    log.logger.setUseParentHandlers(false);
    log.logger.addHandler(log);
    return log;
  }

  public List<Throwable> thrown() {
    return records.stream().map(LogRecord::getThrown).filter(Objects::nonNull).toList();
  }

  /** Messages of one level that were logged while the logger let it through. */
  public List<String> messages(Level level) {
    return records.stream()
        .filter(record -> record.getLevel().equals(level))
        .map(LogRecord::getMessage)
        .toList();
  }

  /** Lets every level through while this is open. */
  public RecordedLog all() {
    logger.setLevel(Level.ALL);
    setLevel(Level.ALL);
    return this;
  }

  @Override
  public void publish(LogRecord record) {
    records.add(record);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
    logger.setUseParentHandlers(true);
    logger.setLevel(null);
  }
}
