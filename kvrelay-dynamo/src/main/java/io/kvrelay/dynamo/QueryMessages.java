package io.kvrelay.dynamo;

import io.kvrelay.api.events.HistoryRequest;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/** What a relay sends to ask a worker for history, as bytes. */
final class QueryMessages {
  private QueryMessages() {}

  /** Two parts with their lengths; the checksum between is left zero, which nobody checks. */
  static byte[] twoPart(byte[] header, byte[] body) {
    return bytes(
        out -> {
          out.writeLong(header.length);
          out.writeLong(body.length);
          out.writeLong(0);
          out.write(header);
          out.write(body);
        });
  }

  /**
   * The whole request.
   *
   * @param target whom it is for
   * @param request what is asked
   * @param id names the request
   * @param subject by which the answer's connection is recognised
   * @param address where the worker is to call back
   */
  static byte[] request(
      RecoveryTarget target, HistoryRequest request, String id, String subject, String address) {
    byte[] path = utf8(target.path());
    byte[] headers =
        utf8(Json.ofTexts(ordered("request-id", id, "x-endpoint-path", target.path())));
    byte[] payload =
        twoPart(utf8(control(target, id, subject, address)), body(target.codec(), request));
    return bytes(
        out -> {
          out.writeShort(path.length);
          out.write(path);
          out.writeShort(headers.length);
          out.write(headers);
          out.writeInt(payload.length);
          out.write(payload);
        });
  }

  private static String control(RecoveryTarget target, String id, String subject, String address) {
    String info =
        Json.ofTexts(
            ordered(
                "address", address, "subject", subject, "context", id, "stream_type", "response"));
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeStringField("id", id);
          json.writeStringField("request_type", "single_in");
          json.writeStringField("response_type", "many_out");
          json.writeStringField("payload_codec", target.codec().wireName());
          json.writeObjectFieldStart("connection_info");
          json.writeStringField("transport", "tcp_server");
          json.writeStringField("info", info);
          json.writeEndObject();
          json.writeEndObject();
        });
  }

  static byte[] body(RecoveryTarget.Codec codec, HistoryRequest request) {
    return switch (codec) {
      case MSGPACK -> messagePackBody(request);
      case JSON -> utf8(jsonBody(request));
    };
  }

  private static byte[] messagePackBody(HistoryRequest request) {
    MessagePackWriter out = new MessagePackWriter().map(6);
    out.text("worker_id").u64(request.member().workerId());
    out.text("dp_rank").u64(Integer.toUnsignedLong(request.member().dpRank()));
    optional(out.text("start_event_id"), request.start());
    optional(out.text("end_event_id"), request.end());
    out.text("supports_tree_dump_failed").flag(true);
    return out.text("kind").text("recovery").bytes();
  }

  private static void optional(MessagePackWriter out, OptionalLong value) {
    if (value.isPresent()) {
      out.u64(value.getAsLong());
    } else {
      out.nil();
    }
  }

  private static String jsonBody(HistoryRequest request) {
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeFieldName("worker_id");
          json.writeNumber(Long.toUnsignedString(request.member().workerId()));
          json.writeFieldName("dp_rank");
          json.writeNumber(Integer.toUnsignedString(request.member().dpRank()));
          json.writeFieldName("start_event_id");
          json.writeRawValue(orNull(request.start()));
          json.writeFieldName("end_event_id");
          json.writeRawValue(orNull(request.end()));
          json.writeBooleanField("supports_tree_dump_failed", true);
          json.writeStringField("kind", "recovery");
          json.writeEndObject();
        });
  }

  private static String orNull(OptionalLong value) {
    return value.isPresent() ? Long.toUnsignedString(value.getAsLong()) : "null";
  }

  private static Map<String, String> ordered(String... namesAndValues) {
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      fields.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return fields;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @FunctionalInterface
  private interface Writing {
    void to(DataOutputStream out) throws IOException;
  }

  private static byte[] bytes(Writing writing) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      writing.to(out);
    } catch (IOException e) {
      throw new UncheckedIOException("an array failed", e);
    }
    return bytes.toByteArray();
  }
}
