package io.kvrelay.cli.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamWriteFeature;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import java.io.IOException;
import java.io.Writer;

/**
 * Writes router events in the JSON form that {@code kvrelay replay} reads, one a line. What is read
 * again equals what was written, so that a recording replays the same.
 */
public final class JsonEventWriter {
  private static final JsonFactory JSON =
      JsonFactory.builder().disable(StreamWriteFeature.AUTO_CLOSE_TARGET).build();

  private JsonEventWriter() {}

  /**
   * Writes one event and ends its line.
   *
   * @param out where to
   * @param event the event
   * @throws IOException if that fails
   */
  public static void write(Writer out, KvEvent event) throws IOException {
    try (JsonGenerator json = JSON.createGenerator(out)) {
      json.writeStartObject();
      unsigned(json, "worker_id", event.member().workerId());
      json.writeStringField("storage_tier", event.tier().wireName());
      domain(json, event.domain());
      json.writeObjectFieldStart("event");
      unsigned(json, "event_id", event.eventId());
      json.writeFieldName("data");
      data(json, event);
      json.writeNumberField("dp_rank", Integer.toUnsignedLong(event.member().dpRank()));
      json.writeEndObject();
      json.writeEndObject();
    }
    out.write('\n');
  }

  /**
   * What cannot be used is not known any more, and is written as something else that cannot be used
   * in the same way.
   */
  private static void domain(JsonGenerator json, ResidencyDomain domain) throws IOException {
    switch (domain) {
      case MISSING -> {}
      case WORKER -> json.writeStringField("residency_domain", "worker");
      case CACHE_OWNER -> json.writeStringField("residency_domain", "cache_owner");
      case UNKNOWN -> json.writeStringField("residency_domain", "unknown");
      case INVALID -> json.writeNullField("residency_domain");
    }
  }

  private static void data(JsonGenerator json, KvEvent event) throws IOException {
    switch (event.kind()) {
      case CLEARED -> json.writeString("cleared");
      case REMOVED -> {
        json.writeStartObject();
        json.writeObjectFieldStart("removed");
        json.writeArrayFieldStart("block_hashes");
        for (int i = 0; i < event.length(); i++) {
          json.writeNumber(Long.toUnsignedString(event.engineHash(i)));
        }
        json.writeEndArray();
        json.writeEndObject();
        json.writeEndObject();
      }
      case STORED -> {
        json.writeStartObject();
        json.writeObjectFieldStart("stored");
        stored(json, event);
        json.writeEndObject();
        json.writeEndObject();
      }
    }
  }

  private static void stored(JsonGenerator json, KvEvent event) throws IOException {
    if (event.hasParent()) {
      unsigned(json, "parent_hash", event.parentHash());
    }
    if (event.startPosition() != KvEvent.NO_START_POSITION) {
      json.writeNumberField("start_position", event.startPosition());
    }
    json.writeArrayFieldStart("blocks");
    for (int i = 0; i < event.length(); i++) {
      json.writeStartObject();
      unsigned(json, "block_hash", event.engineHash(i));
      unsigned(json, "tokens_hash", event.localHash(i));
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void unsigned(JsonGenerator json, String name, long value) throws IOException {
    json.writeFieldName(name);
    json.writeNumber(Long.toUnsignedString(value));
  }
}
