package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.OptionalLong;

/** One JSON object on one line. Unsigned 64-bit numbers stay numbers, with all their digits. */
final class JsonLine {
  private static final JsonFactory FACTORY = new JsonFactory();

  private JsonLine() {}

  /** Writes the fields of the object. */
  @FunctionalInterface
  interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  static String of(Body body) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      body.write(json);
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("a StringWriter failed", e);
    }
    return text.toString();
  }

  static void unsigned(JsonGenerator json, String name, long value) throws IOException {
    json.writeFieldName(name);
    json.writeNumber(Long.toUnsignedString(value));
  }

  /** The number, or null if it is not known. */
  static void optional(JsonGenerator json, String name, OptionalLong value) throws IOException {
    if (value.isPresent()) {
      unsigned(json, name, value.getAsLong());
    } else {
      json.writeNullField(name);
    }
  }
}
