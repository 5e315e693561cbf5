package io.kvrelay.dynamo;

/** What came from outside cannot be used; the message names the field and the value. */
final class MalformedException extends Exception {
  private static final long serialVersionUID = 1L;
  private static final int MAX_VALUE_CHARS = 80;

  MalformedException(String message) {
    super(message);
  }

  static MalformedException of(String field, Object value, String rule) {
    String text = String.valueOf(value);
    String shown =
        text.length() > MAX_VALUE_CHARS ? text.substring(0, MAX_VALUE_CHARS) + "…" : text;
    return new MalformedException(field + " = " + shown + ": " + rule);
  }

  @Override
  public String getMessage() {
    return String.valueOf(super.getMessage());
  }
}
