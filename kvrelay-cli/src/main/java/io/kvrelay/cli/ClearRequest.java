package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** {@code {"endpoint": "a.b.c", "worker": 1, "rank": 0}}: which rank to clear. */
record ClearRequest(EndpointId endpoint, Member member) {
  private static final JsonFactory FACTORY =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  /**
   * Reads a request.
   *
   * @throws IllegalArgumentException naming what is wrong
   */
  static ClearRequest parse(String text) {
    String endpoint = null;
    String worker = null;
    String rank = "0";
    try (JsonParser json = FACTORY.createParser(text)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new IllegalArgumentException("the body must be a JSON object");
      }
      for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
        String value = value(name, json);
        switch (name) {
          case "endpoint" -> endpoint = value;
          case "worker" -> worker = value;
          case "rank" -> rank = value;
          default ->
              throw new IllegalArgumentException(
                  name + ": unknown; known are endpoint, worker, rank");
        }
      }
      if (json.nextToken() != null) {
        throw new IllegalArgumentException("the body must be one JSON object and nothing else");
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("the body is not JSON: " + firstLine(e), e);
    }
    return of(endpoint, worker, rank);
  }

  private static String value(String name, JsonParser json) throws IOException {
    JsonToken token = json.nextToken();
    if (token != JsonToken.VALUE_STRING && token != JsonToken.VALUE_NUMBER_INT) {
      throw new IllegalArgumentException(
          name + " = " + json.getText() + ": must be a text or a whole number");
    }
    return json.getText();
  }

  private static ClearRequest of(@Nullable String endpoint, @Nullable String worker, String rank) {
    if (endpoint == null || worker == null) {
      throw new IllegalArgumentException(
          (endpoint == null ? "endpoint" : "worker") + " is missing");
    }
    try {
      return new ClearRequest(
          EndpointId.parse(endpoint),
          new Member(Long.parseUnsignedLong(worker), Integer.parseUnsignedInt(rank)));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "worker = " + worker + ", rank = " + rank + ": must be unsigned numbers", e);
    }
  }

  private static String firstLine(IOException e) {
    return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
  }
}
