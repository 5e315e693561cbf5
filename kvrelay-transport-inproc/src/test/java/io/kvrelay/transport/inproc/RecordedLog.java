package io.kvrelay.transport.inproc;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What a class logs while this is open; the console does not show it. */
final class RecordedLog extends Handler implements AutoCloseable {
  private final Logger logger;
  private final List<LogRecord> records = new CopyOnWriteArrayList<>();

  private RecordedLog(Logger logger) {
    this.logger = logger;
  }

  static RecordedLog of(Class<?> type) {
    RecordedLog log = new RecordedLog(Logger.getLogger(type.getName()));
    log.logger.setUseParentHandlers(false);
    log.logger.addHandler(log);
    return log;
  }

  List<Throwable> thrown() {
    return records.stream().map(LogRecord::getThrown).filter(Objects::nonNull).toList();
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
  }
}
