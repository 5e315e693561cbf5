package io.kvrelay.dynamo;

import java.nio.charset.StandardCharsets;

/**
 * Reads MessagePack out of a byte array, value by value. Lengths are checked against what is there
 * before anything is allocated. Not thread safe.
 */
final class MessagePackReader {
  private static final int MAX_DEPTH = 64;
  private static final int NIL = 0xC0;

  private final byte[] bytes;
  private final int end;
  private int at;

  MessagePackReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  MessagePackReader(byte[] bytes, int offset, int length) {
    this.bytes = bytes;
    this.at = offset;
    this.end = offset + length;
  }

  int position() {
    return at;
  }

  void checkEnd() throws MalformedException {
    if (at != end) {
      throw new MalformedException("MessagePack: " + (end - at) + " bytes follow the value");
    }
  }

  private int peek() throws MalformedException {
    need(1);
    return bytes[at] & 0xFF;
  }

  private void need(long count) throws MalformedException {
    if (count > end - at) {
      throw new MalformedException(
          "MessagePack: ends after " + (end - at) + " of " + count + " bytes");
    }
  }

  private long big(int width) throws MalformedException {
    need(width);
    long value = 0;
    for (int i = 0; i < width; i++) {
      value = (value << 8) | (bytes[at++] & 0xFF);
    }
    return value;
  }

  /** Takes a nil, if there is one. */
  boolean nil() throws MalformedException {
    if (peek() != NIL) {
      return false;
    }
    at++;
    return true;
  }

  /** An unsigned 64-bit number, bit for bit. */
  long u64(String field) throws MalformedException {
    int head = peek();
    at++;
    if (head < 0x80) {
      return head;
    }
    if (head >= 0xCC && head <= 0xCF) {
      return big(1 << (head - 0xCC));
    }
    if (head >= 0xD0 && head <= 0xD3) {
      int width = 1 << (head - 0xD0);
      long value = big(width) << (Long.SIZE - width * 8) >> (Long.SIZE - width * 8);
      if (value >= 0) {
        return value;
      }
    }
    throw unexpected(field, head, "an unsigned number");
  }

  int u32(String field) throws MalformedException {
    long value = u64(field);
    if (value >>> 32 != 0) {
      throw MalformedException.of(
          field, Long.toUnsignedString(value), "must be an unsigned 32-bit number");
    }
    return (int) value;
  }

  boolean flag(String field) throws MalformedException {
    int head = peek();
    if (head != 0xC2 && head != 0xC3) {
      throw unexpected(field, head, "true or false");
    }
    at++;
    return head == 0xC3;
  }

  /** Whether a text comes next. */
  boolean isText() throws MalformedException {
    int head = peek();
    return (head >= 0xA0 && head < 0xC0) || (head >= 0xD9 && head <= 0xDB);
  }

  String text(String field) throws MalformedException {
    int head = peek();
    if (!isText()) {
      throw unexpected(field, head, "a text");
    }
    at++;
    long length = head < 0xC0 ? head & 0x1F : big(1 << (head - 0xD9));
    need(length);
    String text = new String(bytes, at, (int) length, StandardCharsets.UTF_8);
    at += (int) length;
    return text;
  }

  /** The length of a bin; its bytes begin at {@link #position()}, and {@link #take} passes them. */
  int bin(String field) throws MalformedException {
    int head = peek();
    if (head < 0xC4 || head > 0xC6) {
      throw unexpected(field, head, "a bin");
    }
    at++;
    long length = big(1 << (head - 0xC4));
    need(length);
    return (int) length;
  }

  void take(int count) throws MalformedException {
    need(count);
    at += count;
  }

  /** The number of entries of a map. */
  int map(String field) throws MalformedException {
    int head = peek();
    if (head >= 0x80 && head < 0x90) {
      at++;
      return head & 0x0F;
    }
    if (head != 0xDE && head != 0xDF) {
      throw unexpected(field, head, "a map");
    }
    at++;
    return count(field, big(head == 0xDE ? 2 : 4), 2);
  }

  /** The number of elements of a list. */
  int list(String field) throws MalformedException {
    int head = peek();
    if (head >= 0x90 && head < 0xA0) {
      at++;
      return head & 0x0F;
    }
    if (head != 0xDC && head != 0xDD) {
      throw unexpected(field, head, "a list");
    }
    at++;
    return count(field, big(head == 0xDC ? 2 : 4), 1);
  }

  /** Each entry takes at least so many bytes, so a number beyond what is left is a lie. */
  private int count(String field, long entries, int bytesPerEntry) throws MalformedException {
    if (entries * bytesPerEntry > end - at) {
      throw MalformedException.of(field, entries, "more entries than bytes are left");
    }
    return (int) entries;
  }

  /** Passes one value of any kind. */
  void skip() throws MalformedException {
    skip(0);
  }

  private void skip(int depth) throws MalformedException {
    if (depth > MAX_DEPTH) {
      throw new MalformedException("MessagePack: nested more than " + MAX_DEPTH + " deep");
    }
    int head = peek();
    if ((head >= 0x80 && head < 0x90) || head == 0xDE || head == 0xDF) {
      skipMany(2L * map("value"), depth);
    } else if ((head >= 0x90 && head < 0xA0) || head == 0xDC || head == 0xDD) {
      skipMany(list("value"), depth);
    } else {
      at++;
      long payload = payload(head);
      need(payload);
      at += (int) payload;
    }
  }

  private void skipMany(long values, int depth) throws MalformedException {
    for (long i = 0; i < values; i++) {
      skip(depth + 1);
    }
  }

  /** Bytes after the head, of what is neither map nor list. */
  private long payload(int head) throws MalformedException {
    if (head < 0x80 || head >= 0xE0 || head == NIL || head == 0xC2 || head == 0xC3) {
      return 0;
    }
    if (head < 0xC0) {
      return head & 0x1F;
    }
    return switch (head) {
      case 0xC4, 0xC5, 0xC6 -> big(1 << (head - 0xC4)); // bin
      case 0xC7, 0xC8, 0xC9 -> big(1 << (head - 0xC7)) + 1; // ext: a type byte first
      case 0xCA, 0xCC, 0xCD, 0xCE, 0xCF -> head == 0xCA ? 4 : 1L << (head - 0xCC);
      case 0xCB -> 8;
      case 0xD0, 0xD1, 0xD2, 0xD3 -> 1L << (head - 0xD0);
      case 0xD4, 0xD5, 0xD6, 0xD7, 0xD8 -> (1L << (head - 0xD4)) + 1; // fixext
      case 0xD9, 0xDA, 0xDB -> big(1 << (head - 0xD9)); // str
      default -> throw unexpected("value", head, "a value");
    };
  }

  private static MalformedException unexpected(String field, int head, String wanted) {
    return new MalformedException(
        "MessagePack: "
            + field
            + " begins with 0x"
            + Integer.toHexString(head)
            + ", not "
            + wanted);
  }
}
