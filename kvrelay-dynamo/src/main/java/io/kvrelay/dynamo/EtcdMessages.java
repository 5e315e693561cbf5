package io.kvrelay.dynamo;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Requests to etcd's JSON gateway, and what it answers. Numbers come as texts there. */
final class EtcdMessages {
  private EtcdMessages() {}

  /**
   * Everything under the four buckets at one revision.
   *
   * @param revision of the whole store
   * @param records the content
   */
  record Listing(long revision, Map<RecordKey, byte[]> records) {}

  /**
   * One change; a null value is a removal.
   *
   * @param key which record
   * @param value its new content
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Change(RecordKey key, byte @Nullable [] value) {}

  /** One read transaction over the buckets, so that all four are of one revision. */
  static String list() {
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeArrayFieldStart("success");
          for (RecordKey.Bucket bucket : RecordKey.Bucket.values()) {
            json.writeStartObject();
            json.writeObjectFieldStart("request_range");
            prefix(json, bucket.prefix());
            json.writeEndObject();
            json.writeEndObject();
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  /** Watches one bucket from a revision on. */
  static String watch(RecordKey.Bucket bucket, long revision) {
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeObjectFieldStart("create_request");
          prefix(json, bucket.prefix());
          json.writeStringField("start_revision", Long.toString(revision));
          json.writeEndObject();
          json.writeEndObject();
        });
  }

  static String authenticate(String user, String password) {
    return Json.ofTexts(Map.of("name", user, "password", password));
  }

  /** A prefix is a range that ends before the next key of the same length. */
  private static void prefix(JsonGenerator json, String prefix) throws IOException {
    byte[] first = prefix.getBytes(StandardCharsets.UTF_8);
    byte[] end = first.clone();
    end[end.length - 1]++;
    json.writeBinaryField("key", first);
    json.writeBinaryField("range_end", end);
  }

  static Listing listing(byte[] answer) throws MalformedException {
    JsonObject json = Json.parseObject(answer);
    Map<RecordKey, byte[]> records = new HashMap<>();
    for (Object response : json.list("responses")) {
      JsonObject range = JsonObject.of(response, "responses").object("response_range");
      for (Object kv : range.list("kvs")) {
        Change record = record(JsonObject.of(kv, "kvs"), false);
        if (record != null && record.value() != null) {
          records.put(record.key(), record.value());
        }
      }
    }
    return new Listing(number(json.object("header"), "revision"), records);
  }

  /**
   * The changes of one message of a watch; empty for its confirmation.
   *
   * @throws MalformedException if the message ends the watch, too
   */
  static List<Change> changes(byte[] message) throws MalformedException {
    JsonObject json = Json.parseObject(message);
    if (json.has("error")) {
      throw MalformedException.of("watch", json.tree(), "has ended");
    }
    JsonObject result = json.object("result");
    if (result.flag("canceled")) {
      throw MalformedException.of("result", result.tree(), "the watch was cancelled");
    }
    List<Change> changes = new ArrayList<>();
    for (Object element : result.list("events")) {
      JsonObject event = JsonObject.of(element, "events");
      String type = event.optionalText("type");
      Change change = record(event.object("kv"), "DELETE".equals(type));
      if (change != null) {
        changes.add(change);
      }
    }
    return changes;
  }

  static String token(byte[] answer) throws MalformedException {
    return Json.parseObject(answer).text("token");
  }

  private static @Nullable Change record(JsonObject kv, boolean removal) throws MalformedException {
    RecordKey key =
        RecordKey.parse(new String(binary("key", kv.text("key")), StandardCharsets.UTF_8));
    String value = kv.optionalText("value");
    return key == null
        ? null
        : new Change(key, removal ? null : value == null ? new byte[0] : binary("value", value));
  }

  private static byte[] binary(String field, String base64) throws MalformedException {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      throw MalformedException.of(field, base64, "must be base64");
    }
  }

  private static long number(JsonObject object, String name) throws MalformedException {
    String digits = object.text(name);
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException e) {
      throw MalformedException.of(name, digits, "must be a number");
    }
  }
}
