package io.kvrelay.engine.hash;

import io.kvrelay.api.Digest;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.apache.commons.codec.digest.Blake3;

/** Bytes that an identity digest is taken of. Not thread safe. */
final class IdentityMaterial {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  IdentityMaterial raw(String text) {
    bytes.writeBytes(Utf8.encode(text, "identity"));
    return this;
  }

  /** Length and bytes, so that ("ab", "c") and ("a", "bc") differ. */
  IdentityMaterial frame(String text) {
    return frame(Utf8.encode(text, "identity"));
  }

  IdentityMaterial frame(byte[] content) {
    u32(content.length).bytes.writeBytes(content);
    return this;
  }

  IdentityMaterial u16(int value) {
    bytes.write(value);
    bytes.write(value >>> 8);
    return this;
  }

  IdentityMaterial u32(int value) {
    return u16(value).u16(value >>> 16);
  }

  IdentityMaterial bigEndian(long value, int length) {
    for (int shift = 8 * (length - 1); shift >= 0; shift -= 8) {
      bytes.write((int) (value >>> shift));
    }
    return this;
  }

  byte[] toBytes() {
    return bytes.toByteArray();
  }

  byte[] blake3() {
    return Blake3.hash(toBytes());
  }

  Digest digest() {
    return Digest.of(Arrays.copyOf(blake3(), Digest.BYTES));
  }
}
