package io.kvrelay.cli.replay;

/**
 * A file of events cannot be used. The message is one line that names the file, the line or record,
 * and the value.
 */
public final class EventFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  EventFileException(String message) {
    super(message);
  }

  EventFileException(String message, Throwable cause) {
    super(message, cause);
  }
}
