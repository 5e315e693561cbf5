package io.kvrelay.engine.ingest;

import java.util.concurrent.CompletionException;

/** What is behind a failed stage. */
final class Failures {
  private Failures() {}

  static Throwable cause(Throwable error) {
    return error instanceof CompletionException && error.getCause() != null
        ? error.getCause()
        : error;
  }

  static String text(Throwable error) {
    Throwable cause = cause(error);
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }
}
