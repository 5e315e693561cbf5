package io.kvrelay.cli.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import io.kvrelay.api.KvEvent;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One router event in its JSON form a line. */
final class JsonEvents {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .enable(com.fasterxml.jackson.core.StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .build();

  private JsonEvents() {}

  static List<KvEvent> read(Path path) throws IOException {
    List<KvEvent> events = new ArrayList<>();
    try (InputStream file = Files.newInputStream(path)) {
      Utf8Lines lines = new Utf8Lines(file);
      for (String line = lines.next(); line != null; line = lines.next()) {
        events.add(parse(line, path + ":" + (events.size() + 1) + ": "));
      }
    } catch (CharacterCodingException e) {
      throw new EventFileException(path + ":" + (events.size() + 1) + ": is not UTF-8", e);
    }
    return events;
  }

  /** Decodes one line; {@code where} begins every message. */
  static KvEvent parse(String line, String where) throws IOException {
    try (JsonParser parser = JSON.createParser(line)) {
      JsonRouterEvent event = new JsonRouterEvent(parser);
      event.read();
      if (parser.nextToken() != null) {
        throw new IllegalArgumentException("there is more after the event");
      }
      return event.build();
    } catch (JsonProcessingException e) {
      throw new EventFileException(
          where + "not JSON: " + e.getOriginalMessage().lines().findFirst().orElse(""), e);
    } catch (IllegalArgumentException e) {
      throw new EventFileException(where + e.getMessage(), e);
    }
  }
}
