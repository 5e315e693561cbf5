package io.kvrelay.dynamo;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** An object of a JSON tree, with the path to it for messages. Numbers are read as unsigned. */
final class JsonObject {
  private static final int U32_BITS = 32;

  private final Map<String, Object> fields;
  private final String path;

  private JsonObject(Map<String, Object> fields, String path) {
    this.fields = fields;
    this.path = path;
  }

  @SuppressWarnings("unchecked") // Json builds maps with these types alone
  static JsonObject of(Object value, String path) throws MalformedException {
    if (value instanceof Map<?, ?> map) {
      return new JsonObject((Map<String, Object>) map, path.isEmpty() ? "" : path + ".");
    }
    throw MalformedException.of(path.isEmpty() ? "value" : path, value, "must be an object");
  }

  Map<String, Object> tree() {
    return fields;
  }

  Set<String> names() {
    return fields.keySet();
  }

  boolean has(String name) {
    return fields.containsKey(name);
  }

  private Object required(String name) throws MalformedException {
    Object value = fields.get(name);
    if (value == null) {
      throw new MalformedException(path + name + " is missing");
    }
    return value;
  }

  String text(String name) throws MalformedException {
    return text(name, required(name));
  }

  @Nullable String optionalText(String name) throws MalformedException {
    Object value = fields.get(name);
    return value == null ? null : text(name, value);
  }

  private String text(String name, Object value) throws MalformedException {
    if (value instanceof String text) {
      return text;
    }
    throw MalformedException.of(path + name, value, "must be a text");
  }

  boolean flag(String name) throws MalformedException {
    Object value = fields.get(name);
    if (value == null) {
      return false;
    }
    if (value instanceof Boolean flag) {
      return flag;
    }
    throw MalformedException.of(path + name, value, "must be true or false");
  }

  /** An unsigned 64-bit number, bit for bit. */
  long u64(String name) throws MalformedException {
    return unsigned(name, required(name), Long.SIZE);
  }

  OptionalLong optionalU64(String name) throws MalformedException {
    Object value = fields.get(name);
    return value == null ? OptionalLong.empty() : OptionalLong.of(unsigned(name, value, Long.SIZE));
  }

  /** An unsigned 32-bit number, bit for bit. */
  int u32(String name) throws MalformedException {
    return (int) unsigned(name, required(name), U32_BITS);
  }

  int u32(String name, int absent) throws MalformedException {
    return optionalU32(name).orElse(absent);
  }

  OptionalInt optionalU32(String name) throws MalformedException {
    Object value = fields.get(name);
    return value == null
        ? OptionalInt.empty()
        : OptionalInt.of((int) unsigned(name, value, U32_BITS));
  }

  private long unsigned(String name, Object value, int bits) throws MalformedException {
    if (value instanceof Long number
        && number >= 0
        && (bits == Long.SIZE || number >>> bits == 0)) {
      return number;
    }
    if (value instanceof BigInteger number && number.signum() > 0 && number.bitLength() <= bits) {
      return number.longValue();
    }
    throw MalformedException.of(path + name, value, "must be an unsigned " + bits + "-bit number");
  }

  JsonObject object(String name) throws MalformedException {
    return of(required(name), path + name);
  }

  @Nullable JsonObject optionalObject(String name) throws MalformedException {
    Object value = fields.get(name);
    return value == null ? null : of(value, path + name);
  }

  /** Empty if it is absent. */
  @SuppressWarnings("unchecked") // Json builds lists with this type alone
  List<Object> list(String name) throws MalformedException {
    Object value = fields.get(name);
    if (value == null) {
      return List.of();
    }
    if (value instanceof List<?> list) {
      return (List<Object>) list;
    }
    throw MalformedException.of(path + name, value, "must be a list");
  }

  /** Texts of a list; empty if it is absent. */
  List<String> texts(String name) throws MalformedException {
    List<Object> values = list(name);
    for (Object value : values) {
      text(name, value);
    }
    return values.stream().map(String.class::cast).toList();
  }
}
