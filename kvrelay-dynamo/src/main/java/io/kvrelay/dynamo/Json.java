package io.kvrelay.dynamo;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * JSON as a tree: {@code Map}, {@code List}, {@code String}, {@code Boolean}, {@code Long}, {@code
 * BigInteger} beyond a long, {@code Double}. A field that is null is left out, which is how a
 * deployment's records mean it; a null in a list is {@link #NULL}. A name that occurs twice in one
 * object makes the text malformed.
 */
final class Json {
  /** A null inside a list. */
  static final Object NULL =
      new Object() {
        @Override
        public String toString() {
          return "null";
        }
      };

  private static final int MAX_DEPTH = 64;

  static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(MAX_DEPTH).build())
          .build();

  private Json() {}

  /** The one value that the text consists of. */
  static Object parse(byte[] text) throws MalformedException {
    try (JsonParser parser = FACTORY.createParser(text)) {
      if (parser.nextToken() == null) {
        throw new MalformedException("no JSON: empty");
      }
      Object value = value(parser);
      if (parser.nextToken() != null) {
        throw new MalformedException("no JSON: something follows the value");
      }
      return value;
    } catch (IOException e) {
      throw new MalformedException("no JSON: " + firstLine(e));
    }
  }

  /** The object that the text consists of. */
  static JsonObject parseObject(byte[] text) throws MalformedException {
    return JsonObject.of(parse(text), "");
  }

  private static Object value(JsonParser parser) throws IOException {
    return switch (parser.currentToken()) {
      case START_OBJECT -> object(parser);
      case START_ARRAY -> list(parser);
      case VALUE_STRING -> parser.getText();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_NUMBER_INT ->
          parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
              ? parser.getBigIntegerValue()
              : (Object) parser.getLongValue();
      case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
      default -> NULL;
    };
  }

  private static Map<String, Object> object(JsonParser parser) throws IOException {
    Map<String, Object> fields = new LinkedHashMap<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      if (parser.nextToken() != JsonToken.VALUE_NULL) {
        fields.put(name, value(parser));
      }
    }
    return fields;
  }

  private static List<Object> list(JsonParser parser) throws IOException {
    List<Object> elements = new ArrayList<>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      elements.add(value(parser));
    }
    return elements;
  }

  private static String firstLine(IOException e) {
    String message = String.valueOf(e.getMessage());
    int end = message.indexOf('\n');
    return end < 0 ? message : message.substring(0, end);
  }

  /** Writes one value. */
  @FunctionalInterface
  interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  static String write(Body body) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      body.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException("a StringWriter failed", e);
    }
    return text.toString();
  }

  /** One object whose fields are texts. */
  static String ofTexts(Map<String, String> fields) {
    return write(
        json -> {
          json.writeStartObject();
          for (Map.Entry<String, String> field : fields.entrySet()) {
            json.writeStringField(field.getKey(), field.getValue());
          }
          json.writeEndObject();
        });
  }

  /** A text that is equal for equal trees, whatever the order of their fields. */
  static String canonical(@Nullable Object tree) {
    if (tree instanceof Map<?, ?> map) {
      List<String> fields = new ArrayList<>();
      map.forEach((name, value) -> fields.add(quoted(name) + ":" + canonical(value)));
      fields.sort(null);
      return "{" + String.join(",", fields) + "}";
    }
    if (tree instanceof List<?> list) {
      return "[" + String.join(",", list.stream().map(Json::canonical).toList()) + "]";
    }
    return tree instanceof String ? quoted(tree) : String.valueOf(tree);
  }

  private static String quoted(@Nullable Object text) {
    return write(json -> json.writeString(String.valueOf(text)));
  }
}
