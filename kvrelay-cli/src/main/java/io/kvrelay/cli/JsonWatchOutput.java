package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** One JSON object a line, each with a {@code type}. docs/cli.md lists the fields. */
final class JsonWatchOutput implements WatchOutput {
  private final PrintWriter out;

  JsonWatchOutput(PrintWriter out) {
    this.out = out;
  }

  @Override
  public boolean isBroken() {
    return out.checkError();
  }

  private void line(String type, JsonLine.Body body) {
    out.println(
        JsonLine.of(
            json -> {
              json.writeStringField("type", type);
              body.write(json);
            }));
  }

  @Override
  public void info(URI address, RelayIdentity relay) {
    line(
        "info",
        json -> {
          json.writeStringField("address", address.toString());
          JsonLine.unsigned(json, "instance_id", relay.instanceId());
          JsonLine.unsigned(json, "incarnation", relay.incarnation());
        });
  }

  @Override
  public void catalog(PoolCatalog catalog, boolean repeated) {
    line(
        "catalog",
        json -> {
          JsonLine.unsigned(json, "revision", catalog.revision());
          json.writeBooleanField("repeated", repeated);
          json.writeArrayFieldStart("pools");
          for (PoolDescriptor pool : catalog.pools()) {
            writeDescriptor(json, pool);
          }
          json.writeEndArray();
          writeQuarantined(json, catalog.quarantined());
        });
  }

  private static void writeDescriptor(JsonGenerator json, PoolDescriptor pool) throws IOException {
    json.writeStartObject();
    writeProducer(json, pool.producer());
    json.writeNumberField("bucket_count", pool.producer().format().bucketCount());
    JsonLine.unsigned(json, "filter_seed", pool.producer().format().seed());
    json.writeStringField("endpoint", pool.servingEndpoint().toString());
    json.writeNumberField(
        "block_size", Integer.toUnsignedLong(pool.querySemantics().kvBlockSize()));
    json.writeStringField("hash_format", pool.querySemantics().hashFormat().name());
    writeRoles(json, "roles", pool.roles());
    json.writeArrayFieldStart("registrations");
    for (ModelRegistration registration : pool.registrations()) {
      json.writeStartObject();
      json.writeStringField("model", registration.canonicalModelId());
      json.writeStringField("base_model", registration.target().baseModel());
      if (registration.target() instanceof ModelTarget.Lora lora) {
        json.writeStringField("adapter", lora.adapter());
      } else {
        json.writeNullField("adapter");
      }
      json.writeArrayFieldStart("aliases");
      for (String alias : registration.aliases()) {
        json.writeString(alias);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void writeProducer(JsonGenerator json, ProducerIdentity producer)
      throws IOException {
    json.writeStringField("pool", producer.poolId().toString());
    JsonLine.unsigned(json, "dc_id", producer.poolId().dcId().value());
    JsonLine.unsigned(json, "producer_incarnation", producer.producerIncarnation());
    JsonLine.unsigned(json, "layout_generation", producer.layoutGeneration());
  }

  private static void writeRoles(JsonGenerator json, String name, List<WorkerRole> roles)
      throws IOException {
    json.writeArrayFieldStart(name);
    for (WorkerRole role : roles) {
      json.writeString(role.name());
    }
    json.writeEndArray();
  }

  private static void writeQuarantined(JsonGenerator json, List<QuarantinedEntry> entries)
      throws IOException {
    json.writeArrayFieldStart("quarantined");
    for (QuarantinedEntry entry : entries) {
      json.writeStartObject();
      json.writeStringField("key", entry.key());
      json.writeBooleanField("unsupported", entry.unsupported());
      json.writeStringField("detail", entry.detail());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  @Override
  public void readiness(TopologySnapshot readiness, boolean repeated) {
    line(
        "readiness",
        json -> {
          JsonLine.unsigned(json, "revision", readiness.revision());
          json.writeBooleanField("repeated", repeated);
          json.writeArrayFieldStart("entries");
          for (TopologyEntry entry : readiness.entries()) {
            writeEntry(json, entry);
          }
          json.writeEndArray();
          writeQuarantined(json, readiness.quarantined());
        });
  }

  private static void writeEntry(JsonGenerator json, TopologyEntry entry) throws IOException {
    json.writeStartObject();
    json.writeStringField("namespace", entry.namespace());
    json.writeStringField("model", entry.canonicalModelId());
    json.writeStringField("state", entry.state().name());
    writeRoles(json, "present_roles", entry.presentRoles());
    writeRoles(json, "missing_roles", entry.missingRoles());
    writeRoles(json, "duplicate_role_endpoints", entry.duplicateRoleEndpoints());
    json.writeBooleanField("legacy_fallback_active", entry.legacyFallbackActive());
    json.writeArrayFieldStart("members");
    for (TopologyMember member : entry.members()) {
      json.writeStartObject();
      json.writeStringField("endpoint", member.endpoint().toString());
      writeRoles(json, "roles", member.roles());
      json.writeStringField("pool", member.poolId() == null ? null : member.poolId().toString());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("adapters");
    for (AdapterReadiness adapter : entry.adapters()) {
      json.writeStartObject();
      json.writeStringField("model", adapter.canonicalModelId());
      json.writeStringField("state", adapter.state().name());
      writeRoles(json, "missing_roles", adapter.missingRoles());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  @Override
  public void load(LoadSnapshot load) {
    line(
        "load",
        json -> {
          LoadSnapshot.Window window = load.window();
          if (window == null) {
            json.writeNullField("window");
          } else {
            JsonLine.unsigned(json, "window", window.sequence());
            JsonLine.unsigned(json, "observed_ms", window.observedMillis());
            JsonLine.unsigned(json, "window_ms", window.windowMillis());
          }
          json.writeArrayFieldStart("pools");
          for (PoolLoad pool : load.pools()) {
            writeLoad(json, pool);
          }
          json.writeEndArray();
          writeQuarantined(json, load.quarantined());
        });
  }

  private static void writeLoad(JsonGenerator json, PoolLoad load) throws IOException {
    json.writeStartObject();
    writeProducer(json, load.producer());
    JsonLine.optional(json, "used_blocks", load.kvUsedBlocks());
    JsonLine.optional(json, "total_blocks", load.totalKvBlocks());
    json.writeNumberField("observed_ranks", Integer.toUnsignedLong(load.kvObservedRanks()));
    json.writeNumberField("expected_ranks", Integer.toUnsignedLong(load.kvExpectedRanks()));
    json.writeEndObject();
  }

  @Override
  public void frame(WatchedPool pool, FrameFacts frame) {
    line(
        frame.kind().name().toLowerCase(Locale.ROOT),
        json -> {
          writeProducer(json, pool.producer());
          JsonLine.unsigned(json, "base_sequence", frame.baseSequence());
          JsonLine.unsigned(json, "sequence", frame.sequence());
          if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK) {
            json.writeNumberField("chunk", frame.chunk());
            json.writeNumberField("chunks", frame.chunks());
          }
          json.writeNumberField("bytes", frame.bytes());
          json.writeNumberField("images", frame.images());
          if (frame.lagMicros().isPresent()) {
            json.writeNumberField("lag_us", frame.lagMicros().getAsLong());
          } else {
            json.writeNullField("lag_us");
          }
          json.writeNumberField("total_deltas", pool.deltas());
          json.writeNumberField("total_images", pool.images());
          json.writeNumberField("total_bytes", pool.bytes());
        });
  }

  @Override
  public void withdrawn(WatchedPool pool) {
    line("withdrawn", json -> writeProducer(json, pool.producer()));
  }

  @Override
  public void ended(
      String stream,
      @Nullable WatchedPool pool,
      @Nullable Throwable failure,
      OptionalLong retryMillis) {
    line(
        "ended",
        json -> {
          json.writeStringField("stream", stream);
          if (pool != null) {
            writeProducer(json, pool.producer());
          }
          json.writeStringField(
              "reason", failure instanceof RelayException relay ? relay.reason().name() : null);
          json.writeStringField("message", failure == null ? null : failure.getMessage());
          JsonLine.optional(json, "retry_ms", retryMillis);
        });
  }
}
