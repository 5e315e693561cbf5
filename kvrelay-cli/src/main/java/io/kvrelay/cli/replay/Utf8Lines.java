package io.kvrelay.cli.replay;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The lines of a stream, each decoded by itself, so that bytes which are no UTF-8 are met where
 * they stand and not when a buffer is filled. A line ends with a line feed, or a carriage return
 * and a line feed. One thread at a time; the stream is the caller's to close.
 */
final class Utf8Lines {
  private static final int FIRST_CAPACITY = 1 << 16;
  private static final int LARGEST_CAPACITY = 1 << 30;

  private final InputStream in;
  private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();

  // What was read and not yet returned: buffer[from..to).
  private byte[] buffer = new byte[FIRST_CAPACITY];
  private int from;
  private int to;

  Utf8Lines(InputStream in) {
    this.in = in;
  }

  /**
   * The next line without its end, or null.
   *
   * @throws CharacterCodingException if it is not UTF-8
   */
  @Nullable String next() throws IOException {
    int scanned = from;
    while (true) {
      while (scanned < to && buffer[scanned] != '\n') {
        scanned++;
      }
      if (scanned < to) {
        return take(scanned, scanned + 1);
      }
      scanned -= from;
      if (!fill()) {
        return from == to ? null : take(to, to);
      }
      scanned += from;
    }
  }

  private String take(int end, int next) throws CharacterCodingException {
    int length = end - from;
    if (length > 0 && buffer[end - 1] == '\r') {
      length--;
    }
    ByteBuffer line = ByteBuffer.wrap(buffer, from, length);
    from = next;
    return decoder.decode(line).toString();
  }

  /** Reads more behind what is there; false at the end of the stream. */
  private boolean fill() throws IOException {
    System.arraycopy(buffer, from, buffer, 0, to - from);
    to -= from;
    from = 0;
    if (to == buffer.length) {
      if (to == LARGEST_CAPACITY) {
        throw new IOException("a line is longer than " + LARGEST_CAPACITY + " bytes");
      }
      buffer = Arrays.copyOf(buffer, 2 * to);
    }
    int read = in.read(buffer, to, buffer.length - to);
    to += Math.max(0, read);
    return read >= 0;
  }
}
