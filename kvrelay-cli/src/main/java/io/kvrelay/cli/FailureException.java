package io.kvrelay.cli;

import io.kvrelay.api.RelayException;

/**
 * The command could not do its work although the input was good: a relay cannot be reached, or was
 * lost. The message is the one line the user sees; the exit code is 1.
 */
final class FailureException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  FailureException(String message) {
    super(message);
  }

  /** A relay's or a transport's failure, told with its reason. */
  static FailureException of(Object address, RelayException failure) {
    return new FailureException(address + ": " + describe(failure));
  }

  /** Reason and message of any failure. */
  static String describe(Throwable failure) {
    return failure instanceof RelayException relay
        ? relay.reason() + ": " + relay.getMessage()
        : String.valueOf(failure);
  }
}
