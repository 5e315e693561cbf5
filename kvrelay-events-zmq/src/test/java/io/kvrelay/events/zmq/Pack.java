package io.kvrelay.events.zmq;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * MessagePack of lists, maps, numbers, texts, byte arrays and nulls, by the library's own writer.
 */
final class Pack {
  private Pack() {}

  static List<Object> list(Object... items) {
    return Arrays.asList(items);
  }

  static Map<Object, Object> map(Object... keysAndValues) {
    Map<Object, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      map.put(keysAndValues[i], keysAndValues[i + 1]);
    }
    return map;
  }

  /** A batch of form B without a rank. */
  static byte[] batch(Object... events) {
    return bytes(list(1.5, list(events), null));
  }

  static byte[] bytes(Object value) {
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      pack(out, value);
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void pack(MessageBufferPacker out, Object value) throws IOException {
    if (value == null) {
      out.packNil();
    } else if (value instanceof List<?> items) {
      out.packArrayHeader(items.size());
      for (Object item : items) {
        pack(out, item);
      }
    } else if (value instanceof Map<?, ?> map) {
      out.packMapHeader(map.size());
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        pack(out, entry.getKey());
        pack(out, entry.getValue());
      }
    } else if (value instanceof byte[] binary) {
      out.packBinaryHeader(binary.length);
      out.writePayload(binary);
    } else {
      packScalar(out, value);
    }
  }

  private static void packScalar(MessageBufferPacker out, Object value) throws IOException {
    switch (value.getClass().getSimpleName()) {
      case "Integer" -> out.packInt((Integer) value);
      case "Long" -> out.packLong((Long) value);
      case "BigInteger" -> out.packBigInteger((BigInteger) value);
      case "Double" -> out.packDouble((Double) value);
      case "Float" -> out.packFloat((Float) value);
      case "Boolean" -> out.packBoolean((Boolean) value);
      case "String" -> out.packString((String) value);
      default -> throw new IllegalArgumentException(value.getClass().getName());
    }
  }

  /** An unsigned 64-bit number. */
  static Object unsigned(long value) {
    return value >= 0 ? (Object) value : new BigInteger(Long.toUnsignedString(value));
  }

  static byte[] sequence(long sequence) {
    return ByteBuffer.allocate(8).putLong(sequence).array();
  }

  static byte[] sequence(long sequence, long identity) {
    return ByteBuffer.allocate(24).putLong(sequence).putLong(identity).putLong(7).array();
  }

  static List<Object> tokens(int from, int to) {
    Object[] tokens = new Object[to - from];
    Arrays.setAll(tokens, i -> from + i);
    return list(tokens);
  }
}
