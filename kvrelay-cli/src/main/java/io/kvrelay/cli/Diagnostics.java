package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.pool.PoolStatistics;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvDeploymentStatistics;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.engine.relay.KvRelayStatistics;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What a relay knows about itself, as JSON. Every field stands in {@code docs/operations.md}. */
final class Diagnostics {
  private Diagnostics() {}

  static String health(RelayHealth health) {
    return JsonLine.of(json -> writeHealth(json, health)) + "\n";
  }

  static String of(KvDcRelay relay, RelayInputs inputs) {
    KvRelayStatistics statistics = relay.statistics();
    return JsonLine.of(
            json -> {
              json.writeStringField("dc_id", relay.dcId().toString());
              JsonLine.unsigned(json, "instance_id", statistics.relay().instanceId());
              JsonLine.unsigned(json, "incarnation", statistics.relay().incarnation());
              inputs.write(json);
              json.writeObjectFieldStart("health");
              writeHealth(json, relay.health());
              json.writeEndObject();
              writeDeployment(json, statistics.deployment());
              json.writeArrayFieldStart("pools");
              for (KvPoolStatistics pool : statistics.pools()) {
                json.writeStartObject();
                writePool(json, pool);
                json.writeEndObject();
              }
              json.writeEndArray();
            })
        + "\n";
  }

  private static void writeHealth(JsonGenerator json, RelayHealth health) throws IOException {
    json.writeBooleanField("healthy", health.healthy());
    json.writeBooleanField("shutting_down", health.shuttingDown());
    text(json, "host_last_error", health.hostLastError());
    json.writeNumberField("endpoints", health.endpointCount());
    json.writeNumberField("active_endpoints", health.activeEndpointCount());
    json.writeNumberField("fenced_endpoints", health.fencedEndpointCount());
    json.writeBooleanField("wan_enabled", health.wanEnabled());
    json.writeBooleanField("wan_serving", health.wanServing());
    text(json, "wan_bound_address", health.wanBoundAddress());
    text(json, "wan_last_error", health.wanLastError());
    text(json, "facts_error", health.factsError());
    json.writeArrayFieldStart("problems");
    for (RelayHealth.Problem problem : health.problems()) {
      json.writeStartObject();
      json.writeStringField("subject", problem.subject());
      json.writeStringField("detail", problem.detail());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void writeDeployment(
      JsonGenerator json, @Nullable KvDeploymentStatistics deployment) throws IOException {
    if (deployment == null) {
      return;
    }
    json.writeObjectFieldStart("slots");
    for (var entry : deployment.slots().entrySet()) {
      json.writeNumberField(lower(entry.getKey()), entry.getValue());
    }
    json.writeNumberField("departing", deployment.departingSlots());
    json.writeEndObject();
    json.writeObjectFieldStart("slot_events");
    for (var entry : deployment.slotEvents().entrySet()) {
      json.writeNumberField(lower(entry.getKey()), entry.getValue());
    }
    json.writeEndObject();
    json.writeNumberField("recoveries_in_flight", deployment.recoveriesInFlight());
  }

  private static void writePool(JsonGenerator json, KvPoolStatistics pool) throws IOException {
    json.writeStringField("endpoint", pool.endpoint().toString());
    json.writeStringField("pool", pool.producer().poolId().toString());
    JsonLine.unsigned(json, "layout_generation", pool.producer().layoutGeneration());
    JsonLine.unsigned(json, "last_sequence", pool.actor().lastSequence());
    PoolStatistics state = pool.actor().pool();
    json.writeNumberField("blocks", state.uniqueBlocks());
    json.writeNumberField("filter_blocks", state.occupiedSlots());
    json.writeNumberField("filter_slots", 4 * state.buckets());
    json.writeNumberField("state_bytes", state.stateBytes());
    json.writeNumberField("parent_not_found_blocks", state.parentNotFoundBlocks());
    json.writeNumberField("unknown_removals", state.unknownRemovals());
    json.writeNumberField("capacity_failures", state.capacityFailures());
    json.writeNumberField("faults", pool.actor().faults());
    KvPoolStatistics.Following following = pool.following();
    if (following == null) {
      return;
    }
    number(json, "kv_used_blocks", following.load().kvUsedBlocks());
    number(json, "total_kv_blocks", following.load().totalKvBlocks());
    json.writeArrayFieldStart("ranks");
    for (RankStatus rank : following.ranks()) {
      json.writeStartObject();
      writeRank(json, rank);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectFieldStart("ingest");
    for (Map.Entry<IngestCount, Long> count : following.ingest().counts().entrySet()) {
      if (count.getValue() != 0) {
        json.writeNumberField(lower(count.getKey()), count.getValue());
      }
    }
    json.writeEndObject();
  }

  private static void writeRank(JsonGenerator json, RankStatus rank) throws IOException {
    JsonLine.unsigned(json, "worker", rank.member().workerId());
    json.writeNumberField("rank", Integer.toUnsignedLong(rank.member().dpRank()));
    json.writeStringField("trust", lower(rank.trust()));
    json.writeStringField("reason", rank.reason());
    json.writeStringField("source", lower(rank.source()));
    number(json, "publisher", rank.publisherId());
    number(json, "cursor", rank.cursor());
    json.writeBooleanField("recovering", rank.recovering());
    json.writeNumberField("buffered", rank.buffered());
    json.writeNumberField("queued", rank.queued());
    json.writeBooleanField("reset_pending", rank.resetPending());
    json.writeBooleanField("rejected", rank.rejected());
    number(json, "last_event_ms", rank.lastEventMillis());
    json.writeNumberField("clears", rank.clears());
  }

  private static void number(JsonGenerator json, String name, OptionalLong value)
      throws IOException {
    if (value.isPresent()) {
      JsonLine.unsigned(json, name, value.getAsLong());
    } else {
      json.writeNullField(name);
    }
  }

  private static void text(JsonGenerator json, String name, @Nullable String value)
      throws IOException {
    if (value == null) {
      json.writeNullField(name);
    } else {
      json.writeStringField(name, value);
    }
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
