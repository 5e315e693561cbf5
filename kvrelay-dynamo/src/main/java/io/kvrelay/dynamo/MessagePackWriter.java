package io.kvrelay.dynamo;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes MessagePack, integers and lengths in their shortest form. Not thread safe. */
final class MessagePackWriter {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  byte[] bytes() {
    return out.toByteArray();
  }

  private MessagePackWriter head(int head, int width, long value) {
    out.write(head);
    for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) {
      out.write((int) (value >>> shift));
    }
    return this;
  }

  MessagePackWriter nil() {
    return head(0xC0, 0, 0);
  }

  MessagePackWriter flag(boolean value) {
    return head(value ? 0xC3 : 0xC2, 0, 0);
  }

  /** An unsigned number. */
  MessagePackWriter u64(long value) {
    if (value >= 0 && value < 0x80) {
      return head((int) value, 0, 0);
    }
    if (value < 0 || value > 0xFFFF_FFFFL) {
      return head(0xCF, 8, value);
    }
    return value > 0xFFFF
        ? head(0xCE, 4, value)
        : value > 0xFF ? head(0xCD, 2, value) : head(0xCC, 1, value);
  }

  /** A negative number. */
  MessagePackWriter negative(long value) {
    return head(0xD3, 8, value);
  }

  MessagePackWriter real(double value) {
    return head(0xCB, 8, Double.doubleToRawLongBits(value));
  }

  MessagePackWriter text(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    if (utf8.length < 0x20) {
      head(0xA0 | utf8.length, 0, 0);
    } else if (utf8.length <= 0xFF) {
      head(0xD9, 1, utf8.length);
    } else {
      sized(0xDA, utf8.length);
    }
    out.writeBytes(utf8);
    return this;
  }

  MessagePackWriter map(int entries) {
    return entries < 0x10 ? head(0x80 | entries, 0, 0) : sized(0xDE, entries);
  }

  MessagePackWriter list(int elements) {
    return elements < 0x10 ? head(0x90 | elements, 0, 0) : sized(0xDC, elements);
  }

  private MessagePackWriter sized(int head16, int size) {
    return size <= 0xFFFF ? head(head16, 2, size) : head(head16 + 1, 4, size);
  }

  MessagePackWriter raw(byte[] value) {
    out.writeBytes(value);
    return this;
  }
}
