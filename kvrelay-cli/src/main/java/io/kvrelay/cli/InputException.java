package io.kvrelay.cli;

/**
 * What the user gave cannot be used. The message is the one line the user sees, so it names the
 * option, file or line and the value.
 */
public final class InputException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public InputException(String message) {
    super(message);
  }

  public InputException(String message, Throwable cause) {
    super(message, cause);
  }
}
