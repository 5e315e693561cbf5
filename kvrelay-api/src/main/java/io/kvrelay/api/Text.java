package io.kvrelay.api;

/**
 * The text rule of the wire contract: non-empty and without leading or trailing Unicode {@code
 * White_Space}.
 *
 * <p>{@link String#strip()} is not equivalent: it keeps U+0085, U+00A0, U+2007 and U+202F, and it
 * removes U+001C to U+001F.
 */
public final class Text {
  private Text() {}

  /**
   * Whether {@code value} satisfies the text rule.
   *
   * @param value any text
   * @return true if it is not empty and neither starts nor ends with Unicode white space
   */
  public static boolean isValid(String value) {
    return !value.isEmpty()
        && !isWhiteSpace(value.codePointAt(0))
        && !isWhiteSpace(value.codePointBefore(value.length()));
  }

  /**
   * The Unicode {@code White_Space} property, independent of the running JDK's Unicode version.
   *
   * @param codePoint a code point
   * @return true if it has the property
   */
  public static boolean isWhiteSpace(int codePoint) {
    return switch (codePoint) {
      case 0x09,
          0x0A,
          0x0B,
          0x0C,
          0x0D,
          0x20,
          0x85,
          0xA0,
          0x1680,
          0x2028,
          0x2029,
          0x202F,
          0x205F,
          0x3000 ->
          true;
      default -> codePoint >= 0x2000 && codePoint <= 0x200A;
    };
  }
}
