package io.kvrelay.engine.hash;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * UTF-8 bytes of texts that take part in an identity. {@link String#getBytes} would silently turn
 * an unpaired surrogate into a question mark, and two different names into one.
 */
final class Utf8 {
  private Utf8() {}

  static byte[] encode(String text, String field) {
    try {
      ByteBuffer encoded =
          StandardCharsets.UTF_8
              .newEncoder()
              .onMalformedInput(CodingErrorAction.REPORT)
              .encode(CharBuffer.wrap(text));
      byte[] bytes = new byte[encoded.remaining()];
      encoded.get(bytes);
      return bytes;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(
          field + " = \"" + text + "\": must not hold an unpaired surrogate", e);
    }
  }
}
