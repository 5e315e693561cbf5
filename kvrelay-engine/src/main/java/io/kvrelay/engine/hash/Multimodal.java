package io.kvrelay.engine.hash;

import java.util.OptionalLong;

/** The two scalar rules of multimodal identity. Static and thread safe. */
public final class Multimodal {
  private static final long PAD_BASE = 1_000_000;
  private static final long PAD_MASK = (1L << 30) - 1;
  private static final int HEX_IDENTIFIER = 64;
  private static final int HEX_PREFIX = 16;

  private Multimodal() {}

  /**
   * The token that stands for an object in a normalized block.
   *
   * @param mmHash the object's hash
   * @return an unsigned 32-bit token id
   */
  public static int padValue(long mmHash) {
    return (int) (PAD_BASE + (mmHash & PAD_MASK));
  }

  /**
   * The hash of an object that is named by a text. Exactly 64 ASCII hexadecimal digits of either
   * case are a digest already and give their first 16 digits; any other text is hashed, without a
   * seed.
   *
   * @param identifier the text
   * @return the hash, or nothing for the empty text
   * @throws IllegalArgumentException if the text holds an unpaired surrogate
   */
  public static OptionalLong mmHash(String identifier) {
    if (identifier.isEmpty()) {
      return OptionalLong.empty();
    }
    if (isHexDigest(identifier)) {
      return OptionalLong.of(Long.parseUnsignedLong(identifier.substring(0, HEX_PREFIX), 16));
    }
    byte[] utf8 = Utf8.encode(identifier, "identifier");
    return OptionalLong.of(Xxh3.UNSEEDED.hashBytes(utf8, 0, utf8.length));
  }

  /** ASCII digits only: {@link Character#digit} would take those of other scripts too. */
  private static boolean isHexDigest(String text) {
    return text.length() == HEX_IDENTIFIER
        && text.chars()
            .allMatch(
                c -> (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
  }
}
