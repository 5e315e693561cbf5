package io.kvrelay.api;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * A 16-byte identity digest: the first half of a BLAKE3 hash of some identity material.
 *
 * <p>Ordered by unsigned bytes.
 *
 * @param high bytes 0 to 7, big-endian
 * @param low bytes 8 to 15, big-endian
 */
public record Digest(long high, long low) implements Comparable<Digest> {
  /** Length in bytes. */
  public static final int BYTES = 16;

  /**
   * Reads a digest.
   *
   * @param bytes exactly {@link #BYTES} bytes
   * @return the digest
   * @throws IllegalArgumentException if the length differs
   */
  public static Digest of(byte[] bytes) {
    Check.that(bytes.length == BYTES, "digest.length", bytes.length, "must be 16");
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new Digest(buffer.getLong(), buffer.getLong());
  }

  /**
   * Reads a digest from 32 hexadecimal digits.
   *
   * @param hex the digits, either case
   * @return the digest
   * @throws IllegalArgumentException if the text is anything else
   */
  public static Digest parse(String hex) {
    return of(HexFormat.of().parseHex(hex));
  }

  /**
   * The 16 bytes, in a new array.
   *
   * @return the bytes
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
  }

  @Override
  public int compareTo(Digest other) {
    int byHigh = Long.compareUnsigned(high, other.high);
    return byHigh != 0 ? byHigh : Long.compareUnsigned(low, other.low);
  }

  /** 32 lower-case hexadecimal digits. */
  @Override
  public String toString() {
    return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
  }
}
