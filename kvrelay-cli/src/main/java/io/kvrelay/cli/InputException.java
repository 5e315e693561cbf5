package io.kvrelay.cli;

/**
 * What the user gave cannot be used. The message is the one line the user sees, so it names the
 * option, file or line and the value.
 */
final class InputException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  InputException(String message) {
    super(message);
  }

  InputException(String message, Throwable cause) {
    super(message, cause);
  }
}
