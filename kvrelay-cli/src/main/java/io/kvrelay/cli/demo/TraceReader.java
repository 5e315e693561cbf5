package io.kvrelay.cli.demo;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.cli.InputException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads request traces in the Mooncake form: one JSON object a line with {@code timestamp}
 * (milliseconds), {@code input_length} (tokens) and {@code hash_ids} (one id per 512-token block).
 * Other fields are ignored, empty lines too. The ids of a partial last block, and ids beyond the
 * input's length, are left out: only full blocks can be cached.
 *
 * <p>Whatever is wrong is an {@link InputException} that names file, line, field and value.
 */
final class TraceReader {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int SHOWN_CHARACTERS = 60;

  private final Path file;
  private int lineNumber;
  private long lastMillis;

  private TraceReader(Path file) {
    this.file = file;
  }

  /**
   * Reads a file.
   *
   * @param file the file
   * @param limit how many requests to read at most
   * @return the requests, at least one, in order of time
   */
  static List<Request> read(Path file, int limit) {
    return new TraceReader(file).readAll(limit);
  }

  private List<Request> readAll(int limit) {
    if (!Files.isRegularFile(file)) {
      throw new InputException(
          "--trace = " + file + ": " + (Files.exists(file) ? "not a file" : "no such file"));
    }
    List<Request> requests = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      for (String line = lines.readLine();
          line != null && requests.size() < limit;
          line = lines.readLine()) {
        lineNumber++;
        if (!line.isBlank()) {
          requests.add(parse(line));
        }
      }
    } catch (CharacterCodingException e) {
      throw new InputException(where(lineNumber + 1) + "not UTF-8 text", e);
    } catch (IOException e) {
      throw new InputException("--trace = " + file + ": " + e.getMessage(), e);
    }
    if (requests.isEmpty()) {
      throw new InputException("--trace = " + file + ": holds no request");
    }
    return requests;
  }

  private String where(int line) {
    return file + ":" + line + ": ";
  }

  private Request parse(String line) throws IOException {
    try (JsonParser json = JSON.createParser(line)) {
      Fields fields = new Fields();
      require(json.nextToken() == JsonToken.START_OBJECT, line);
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        readField(json, json.currentName(), fields);
      }
      require(json.nextToken() == null, line);
      return fields.toRequest();
    } catch (JacksonException e) {
      throw new InputException(
          where(lineNumber) + e.getOriginalMessage() + ": " + shorten(line), e);
    }
  }

  private void require(boolean condition, String line) {
    if (!condition) {
      throw new InputException(where(lineNumber) + "not one JSON object: " + shorten(line));
    }
  }

  private void readField(JsonParser json, String name, Fields fields) throws IOException {
    JsonToken value = json.nextToken();
    switch (name) {
      case "timestamp" -> fields.timestamp = readWhole(json, value, name);
      case "input_length" -> fields.inputLength = readWhole(json, value, name);
      case "output_length" -> readWhole(json, value, name);
      case "hash_ids" -> fields.ids = readIds(json, value);
      default -> json.skipChildren();
    }
  }

  /** A number of at least zero; a fraction, as in some traces' timestamps, is cut off. */
  private long readWhole(JsonParser json, JsonToken token, String name) throws IOException {
    if (!token.isNumeric()) {
      throw fault(name, json.getText(), "must be a number");
    }
    double value = json.getDoubleValue();
    if (!(value >= 0 && value <= Integer.MAX_VALUE)) {
      throw fault(name, json.getText(), "must lie in 0.." + Integer.MAX_VALUE);
    }
    return (long) value;
  }

  private long[] readIds(JsonParser json, JsonToken token) throws IOException {
    if (token != JsonToken.START_ARRAY) {
      throw fault("hash_ids", json.getText(), "must be an array");
    }
    long[] ids = new long[32];
    int count = 0;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
        throw fault("hash_ids[" + count + "]", json.getText(), "must be a whole number");
      }
      if (count == ids.length) {
        ids = Arrays.copyOf(ids, count * 2);
      }
      ids[count++] = json.getLongValue();
    }
    return Arrays.copyOf(ids, count);
  }

  private InputException fault(String field, String value, String rule) {
    return new InputException(where(lineNumber) + field + " = " + shorten(value) + ": " + rule);
  }

  private static String shorten(String text) {
    return text.length() <= SHOWN_CHARACTERS ? text : text.substring(0, SHOWN_CHARACTERS) + "...";
  }

  /** One line's fields while they are read. */
  private final class Fields {
    private static final long MISSING = -1;

    private long timestamp = MISSING;
    private long inputLength = MISSING;
    private long @Nullable [] ids;

    private Request toRequest() {
      long[] given = ids;
      if (timestamp == MISSING || inputLength == MISSING || given == null) {
        throw new InputException(where(lineNumber) + firstMissing() + " is missing");
      }
      if (timestamp < lastMillis) {
        throw fault(
            "timestamp",
            Long.toString(timestamp),
            "must not be before the last one, " + lastMillis);
      }
      lastMillis = timestamp;
      int full = (int) Math.min(given.length, inputLength / Request.TOKENS_PER_ID);
      return new Request(timestamp, Arrays.copyOf(given, full));
    }

    private String firstMissing() {
      if (timestamp == MISSING) {
        return "timestamp";
      }
      return inputLength == MISSING ? "input_length" : "hash_ids";
    }
  }
}
