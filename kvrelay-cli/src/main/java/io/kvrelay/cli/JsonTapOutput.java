package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.events.zmq.SourceStatistics;
import io.kvrelay.events.zmq.TappedBatch;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Map;

/** One JSON object a line. */
final class JsonTapOutput implements TapOutput {
  private final PrintWriter out;

  JsonTapOutput(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void batch(TappedBatch batch) {
    out.println(
        JsonLine.of(
            json -> {
              json.writeStringField("type", "batch");
              JsonLine.unsigned(json, "sequence", batch.sequence());
              json.writeBooleanField("replayed", batch.replayed());
              json.writeNumberField("timestamp", batch.timestamp());
              if (batch.rank().isPresent()) {
                json.writeNumberField("rank", Integer.toUnsignedLong(batch.rank().getAsInt()));
              } else {
                json.writeNullField("rank");
              }
              json.writeArrayFieldStart("events");
              for (TappedBatch.Event event : batch.events()) {
                event(json, event);
              }
              json.writeEndArray();
            }));
  }

  private static void event(JsonGenerator json, TappedBatch.Event event) throws IOException {
    json.writeStartObject();
    json.writeStringField("kind", event.kind());
    json.writeStringField("refused", event.refusal());
    json.writeStringField("medium", event.medium());
    json.writeNumberField("blocks", event.blocks());
    json.writeNumberField("tokens", event.tokens());
    json.writeNumberField("block_size", event.blockSize());
    if (event.hasParent()) {
      JsonLine.unsigned(json, "parent", event.parent());
    } else {
      json.writeNullField("parent");
    }
    JsonLine.unsigned(json, "first_block", event.firstBlock());
    JsonLine.unsigned(json, "last_block", event.lastBlock());
    json.writeStringField("adapter", event.adapter());
    if (event.group() < 0) {
      json.writeNullField("group");
    } else {
      json.writeNumberField("group", event.group());
    }
    json.writeEndObject();
  }

  @Override
  public void trust(SourceTrust trust, String reason) {
    out.println(
        JsonLine.of(
            json -> {
              json.writeStringField("type", "trust");
              json.writeStringField("trust", trust.name());
              json.writeStringField("reason", reason);
            }));
  }

  @Override
  public void rates(double seconds, double batches, double blocks, SourceStatistics now) {
    out.println(
        JsonLine.of(
            json -> {
              json.writeStringField("type", "rates");
              json.writeNumberField("seconds", seconds);
              json.writeNumberField("batches_per_second", batches);
              json.writeNumberField("blocks_per_second", blocks);
              json.writeNumberField("blocks", now.blocks());
              json.writeObjectFieldStart("counters");
              for (Map.Entry<String, Long> counter : now.counters().entrySet()) {
                if (counter.getValue() != 0) {
                  json.writeNumberField(counter.getKey(), counter.getValue());
                }
              }
              json.writeEndObject();
            }));
  }
}
