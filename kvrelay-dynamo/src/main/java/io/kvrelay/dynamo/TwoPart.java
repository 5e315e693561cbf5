package io.kvrelay.dynamo;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * A frame of an answer's connection.
 *
 * @param header JSON, or empty
 * @param body the content, or empty
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record TwoPart(byte[] header, byte[] body) {
  private static final int MAX_HEADER_BYTES = 128 << 10;

  /**
   * Reads one frame. Memory grows with what arrives, not with what is announced.
   *
   * @param stream where from
   * @param maxBodyBytes a longer body is refused
   * @return null if the stream ends before the frame begins
   */
  static @Nullable TwoPart read(InputStream stream, long maxBodyBytes)
      throws IOException, MalformedException {
    int first = stream.read();
    if (first < 0) {
      return null;
    }
    DataInputStream in = new DataInputStream(stream);
    byte[] rest = exactly(in, Long.BYTES - 1);
    long header = first & 0xFF;
    for (byte b : rest) {
      header = (header << 8) | (b & 0xFF);
    }
    long body = in.readLong();
    in.readLong(); // a checksum that nobody checks
    check("header length", header, MAX_HEADER_BYTES);
    check("body length", body, maxBodyBytes);
    return new TwoPart(exactly(in, (int) header), exactly(in, (int) body));
  }

  private static void check(String field, long length, long limit) throws MalformedException {
    if (length < 0 || length > limit) {
      throw MalformedException.of(
          field, Long.toUnsignedString(length), "must not exceed " + limit + " bytes");
    }
  }

  private static byte[] exactly(InputStream in, int length) throws IOException {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException("ends after " + bytes.length + " of " + length + " bytes");
    }
    return bytes;
  }
}
