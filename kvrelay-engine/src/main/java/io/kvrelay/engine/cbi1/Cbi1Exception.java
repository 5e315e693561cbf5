package io.kvrelay.engine.cbi1;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;

/** A {@link Cbi1Error} where the caller did not ask for it as a value. */
public final class Cbi1Exception extends RelayException {
  private static final long serialVersionUID = 1L;

  /** What is wrong. */
  private final Cbi1Error error;

  /** The offending value, 0 where the error carries none. */
  private final long value;

  /** The limit it broke, 0 where there is none. */
  private final long limit;

  Cbi1Exception(Cbi1Error error, RelayErrorReason reason, long value, long limit) {
    super(reason, message(error, value, limit));
    this.error = error;
    this.value = value;
    this.limit = limit;
  }

  private static String message(Cbi1Error error, long value, long limit) {
    return "CBI1 "
        + error.title()
        + (value == 0 && limit == 0 ? "" : " = " + Long.toUnsignedString(value))
        + (limit == 0 ? "" : ", limit " + Long.toUnsignedString(limit));
  }

  /**
   * What is wrong.
   *
   * @return the error
   */
  public Cbi1Error error() {
    return error;
  }

  /**
   * The offending value.
   *
   * @return the unsigned value; 0 where the error carries none
   */
  public long value() {
    return value;
  }

  /**
   * The limit that the value broke.
   *
   * @return the unsigned limit; 0 where the error carries none
   */
  public long limit() {
    return limit;
  }
}
