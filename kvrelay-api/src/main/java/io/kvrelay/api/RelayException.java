package io.kvrelay.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The one unchecked exception of kvrelay. {@link #reason()} is what programs decide by; the message
 * is for people and is not stable.
 */
public class RelayException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why it failed. */
  private final RelayErrorReason reason;

  /** What to do about it. */
  private final RecoveryAction action;

  /**
   * Creates an exception whose action is its reason's.
   *
   * @param reason why
   * @param message for people: names the field and the value
   */
  public RelayException(RelayErrorReason reason, String message) {
    this(reason, reason.action(), message, null);
  }

  /**
   * Creates an exception.
   *
   * @param reason why
   * @param action what to do, where that is not the reason's own action
   * @param message for people: names the field and the value
   * @param cause the cause, or null
   */
  public RelayException(
      RelayErrorReason reason, RecoveryAction action, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
    this.action = action;
  }

  /**
   * Why it failed.
   *
   * @return the reason
   */
  public RelayErrorReason reason() {
    return reason;
  }

  /**
   * What the receiver should do.
   *
   * @return the action
   */
  public RecoveryAction action() {
    return action;
  }

  /** Never null. */
  @Override
  public String getMessage() {
    return Objects.requireNonNull(super.getMessage());
  }

  /** The message stays as it was written; a log line also wants the reason. */
  @Override
  @SuppressWarnings("OverrideThrowableToString")
  public String toString() {
    return getClass().getName() + "[" + reason + "]: " + getMessage();
  }
}
