package io.kvrelay.engine.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A value of a JSON document, just enough to read test vectors. Numbers are integers of any size;
 * 64-bit values may also be texts, decimal or with a {@code 0x} prefix.
 */
public final class Json implements Iterable<Json> {
  private final Object value;

  private Json(Object value) {
    this.value = value;
  }

  /** Reads a resource of the class path. */
  public static Json resource(String path) {
    try (InputStream in = Json.class.getResourceAsStream(path)) {
      return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Reads a text. */
  public static Json parse(String text) {
    Parser parser = new Parser(text);
    Json json = new Json(parser.value());
    parser.end();
    return json;
  }

  /** A member of an object; null-valued if it is missing. */
  public Json get(String key) {
    return new Json(entries().get(key));
  }

  /** An element of an array. */
  public Json get(int index) {
    return new Json(items().get(index));
  }

  public boolean has(String key) {
    return value instanceof Map && entries().containsKey(key);
  }

  public boolean isNull() {
    return value == null;
  }

  public boolean isText() {
    return value instanceof String;
  }

  public boolean isList() {
    return value instanceof List;
  }

  public String text() {
    return (String) value;
  }

  public boolean bool() {
    return (Boolean) value;
  }

  public int integer() {
    return (int) u64();
  }

  /** The low 64 bits of a number or a numeric text. */
  public long u64() {
    if (value instanceof BigInteger number) {
      return number.longValue();
    }
    String text = text();
    return text.startsWith("0x")
        ? Long.parseUnsignedLong(text.substring(2), 16)
        : new BigInteger(text).longValue();
  }

  public long[] u64s() {
    long[] values = new long[size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = get(i).u64();
    }
    return values;
  }

  public int[] integers() {
    int[] values = new int[size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = get(i).integer();
    }
    return values;
  }

  public int size() {
    return items().size();
  }

  /** The keys of an object, in the document's order. */
  public List<String> keys() {
    return List.copyOf(entries().keySet());
  }

  @Override
  public Iterator<Json> iterator() {
    List<Json> children = new ArrayList<>();
    items().forEach(item -> children.add(new Json(item)));
    return children.iterator();
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> entries() {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private List<Object> items() {
    return (List<Object>) value;
  }

  @Override
  public String toString() {
    return String.valueOf(value);
  }

  private static final class Parser {
    private final String text;
    private int at;

    Parser(String text) {
      this.text = text;
    }

    Object value() {
      char c = peek();
      return switch (c) {
        case '{' -> object();
        case '[' -> array();
        case '"' -> string();
        case 't' -> word("true", true);
        case 'f' -> word("false", false);
        case 'n' -> word("null", null);
        default -> number();
      };
    }

    void end() {
      if (at < text.length() && !text.substring(at).isBlank()) {
        throw new IllegalArgumentException("trailing text at " + at);
      }
    }

    private Map<String, Object> object() {
      Map<String, Object> members = new LinkedHashMap<>();
      expect('{');
      while (peek() != '}') {
        String key = string();
        expect(':');
        members.put(key, value());
        if (peek() == ',') {
          at++;
        }
      }
      expect('}');
      return members;
    }

    private List<Object> array() {
      List<Object> items = new ArrayList<>();
      expect('[');
      while (peek() != ']') {
        items.add(value());
        if (peek() == ',') {
          at++;
        }
      }
      expect(']');
      return items;
    }

    private String string() {
      expect('"');
      StringBuilder out = new StringBuilder();
      for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
        out.append(c == '\\' ? escape() : c);
      }
      return out.toString();
    }

    private char escape() {
      char c = text.charAt(at++);
      return switch (c) {
        case 'n' -> '\n';
        case 't' -> '\t';
        case 'r' -> '\r';
        case 'b' -> '\b';
        case 'f' -> '\f';
        case 'u' -> unicode();
        default -> c;
      };
    }

    private char unicode() {
      at += 4;
      return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Object number() {
      int start = at;
      while (at < text.length() && (text.charAt(at) == '-' || Character.isDigit(text.charAt(at)))) {
        at++;
      }
      return new BigInteger(text.substring(start, at));
    }

    private Object word(String word, Object meaning) {
      if (!text.startsWith(word, at)) {
        throw new IllegalArgumentException("not JSON at " + at);
      }
      at += word.length();
      return meaning;
    }

    private char peek() {
      while (Character.isWhitespace(text.charAt(at))) {
        at++;
      }
      return text.charAt(at);
    }

    private void expect(char c) {
      if (peek() != c) {
        throw new IllegalArgumentException("expected " + c + " at " + at);
      }
      at++;
    }
  }
}
