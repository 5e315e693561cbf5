package io.kvrelay.dynamo;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/** Turns JSON into the MessagePack that says the same, so that answers need one decoder. */
final class JsonToMessagePack {
  private JsonToMessagePack() {}

  static byte[] convert(byte[] json) throws MalformedException {
    try (JsonParser parser = Json.FACTORY.createParser(json)) {
      MessagePackWriter out = new MessagePackWriter();
      parser.nextToken();
      value(parser, out);
      if (parser.nextToken() != null) {
        throw new MalformedException("no JSON: something follows the value");
      }
      return out.bytes();
    } catch (IOException e) {
      throw new MalformedException("no JSON: " + e.getClass().getSimpleName());
    }
  }

  private static void value(JsonParser parser, MessagePackWriter out)
      throws IOException, MalformedException {
    JsonToken token = parser.currentToken();
    if (token == null) {
      throw new MalformedException("no JSON: ends early");
    }
    switch (token) {
      case START_OBJECT, START_ARRAY -> nested(parser, token, out);
      case VALUE_STRING -> out.text(parser.getText());
      case VALUE_TRUE -> out.flag(true);
      case VALUE_FALSE -> out.flag(false);
      case VALUE_NUMBER_INT -> number(parser, out);
      case VALUE_NUMBER_FLOAT -> out.real(parser.getDoubleValue());
      default -> out.nil();
    }
  }

  private static void number(JsonParser parser, MessagePackWriter out)
      throws IOException, MalformedException {
    if (parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
      long number = parser.getLongValue();
      if (number >= 0) {
        out.u64(number);
      } else {
        out.negative(number);
      }
    } else if (parser.getBigIntegerValue().signum() > 0
        && parser.getBigIntegerValue().bitLength() <= Long.SIZE) {
      out.u64(parser.getBigIntegerValue().longValue());
    } else {
      throw MalformedException.of("number", parser.getText(), "is wider than 64 bits");
    }
  }

  /** The number of entries comes first in MessagePack, so they are written aside. */
  private static void nested(JsonParser parser, JsonToken start, MessagePackWriter out)
      throws IOException, MalformedException {
    MessagePackWriter content = new MessagePackWriter();
    JsonToken end = start == JsonToken.START_OBJECT ? JsonToken.END_OBJECT : JsonToken.END_ARRAY;
    int entries = 0;
    while (parser.nextToken() != end) {
      if (start == JsonToken.START_OBJECT) {
        content.text(parser.currentName());
        parser.nextToken();
      }
      value(parser, content);
      entries++;
    }
    if (start == JsonToken.START_OBJECT) {
      out.map(entries);
    } else {
      out.list(entries);
    }
    out.raw(content.bytes());
  }
}
