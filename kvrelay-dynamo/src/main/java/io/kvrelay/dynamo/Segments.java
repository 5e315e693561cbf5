package io.kvrelay.dynamo;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Percent encodings of keys: of the parts of an event key, and of file names. */
final class Segments {
  private Segments() {}

  /**
   * A part of an event key: ASCII letters, digits, {@code -} and {@code _} stand for themselves.
   */
  static String encode(String text) {
    return encode(text, "-_");
  }

  /** A file name of the store: only ASCII letters and digits stand for themselves. */
  static String encodeFileName(String key) {
    return encode(key, "");
  }

  private static String encode(String text, String plain) {
    StringBuilder encoded = new StringBuilder();
    for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
      char c = (char) (b & 0xFF);
      if (c < 0x80 && (Character.isLetterOrDigit(c) || plain.indexOf(c) >= 0)) {
        encoded.append(c);
      } else {
        encoded.append(String.format("%%%02X", (int) c));
      }
    }
    return encoded.toString();
  }

  /**
   * Takes the percent encoding off, once.
   *
   * @throws MalformedException if a {@code %} has no two hex digits, or the bytes are no UTF-8
   */
  static String decode(String encoded) throws MalformedException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] raw = encoded.getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < raw.length; i++) {
      if (raw[i] != '%') {
        bytes.write(raw[i]);
      } else {
        bytes.write(hexByte(encoded, raw, i));
        i += 2;
      }
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes.toByteArray()))
          .toString();
    } catch (CharacterCodingException e) {
      throw MalformedException.of("name", encoded, "must be percent-encoded UTF-8");
    }
  }

  private static int hexByte(String encoded, byte[] raw, int percent) throws MalformedException {
    int high = percent + 1 < raw.length ? Character.digit(raw[percent + 1], 16) : -1;
    int low = percent + 2 < raw.length ? Character.digit(raw[percent + 2], 16) : -1;
    if (high < 0 || low < 0) {
      throw MalformedException.of("name", encoded, "must have two hex digits after each %");
    }
    return (high << 4) | low;
  }
}
