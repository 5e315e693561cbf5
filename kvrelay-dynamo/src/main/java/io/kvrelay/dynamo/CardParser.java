package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Model cards. Fields that a relay does not use are not looked at; the runtime configuration as a
 * whole is kept, because any difference in it is a change of the endpoint.
 */
final class CardParser {
  private static final String TAINTS = "taints";
  private static final String RUNTIME = "runtime_config";

  private CardParser() {}

  static DiscoveryRecord card(RecordKey key, JsonObject record) throws MalformedException {
    EndpointId endpoint = RecordParser.endpoint(record, "endpoint");
    long worker = record.u64("instance_id");
    String suffix = record.optionalText("model_suffix");
    RecordParser.checkKey(key, RecordKey.card(endpoint, worker, suffix));
    JsonObject json = record.object("card_json");
    JsonObject runtime = json.optionalObject(RUNTIME);
    String name = json.text("display_name");
    String sourcePath = json.optionalText("source_path");
    ModelCard.Builder card =
        ModelCard.builder(endpoint, worker, name)
            .suffix(suffix)
            .sourcePath(sourcePath == null ? name : sourcePath)
            .kvBlockSize(json.u32("kv_cache_block_size"))
            .modelTypes(modelTypes(json.text("model_type")))
            .role(role(json))
            .aliases(json.texts("aliases").toArray(String[]::new))
            .lora(lora(json.optionalObject("lora")));
    needs(json, card);
    identity(json.optionalObject("indexer_identity"), card);
    if (runtime != null) {
      card.runtime(runtime(runtime));
      card.hashFormat(
          runtime.flag("enable_eagle")
              ? QueryHashFormat.DYNAMO_EAGLE_V1
              : QueryHashFormat.DYNAMO_STANDARD_V1);
    }
    return new DiscoveryRecord.Card(card.build());
  }

  private static String[] modelTypes(String flags) {
    Set<String> names = new HashSet<>();
    for (String flag : flags.split("\\|", -1)) {
      if (!flag.isBlank()) {
        names.add(flag.strip());
      }
    }
    return names.toArray(String[]::new);
  }

  private static @Nullable WorkerRole role(JsonObject json) throws MalformedException {
    String name = json.optionalText("worker_type");
    return name == null ? null : role("worker_type", name);
  }

  private static WorkerRole role(String field, Object name) throws MalformedException {
    return switch (String.valueOf(name)) {
      case "prefill" -> WorkerRole.PREFILL;
      case "decode" -> WorkerRole.DECODE;
      case "encode" -> WorkerRole.ENCODE;
      case "aggregated" -> WorkerRole.AGGREGATED;
      default ->
          throw MalformedException.of(field, name, "must be prefill, decode, encode or aggregated");
    };
  }

  private static void needs(JsonObject json, ModelCard.Builder card) throws MalformedException {
    for (Object alternative : json.list("needs")) {
      if (!(alternative instanceof List<?> names)) {
        throw MalformedException.of("needs", alternative, "must be a list of worker types");
      }
      WorkerRole[] roles = new WorkerRole[names.size()];
      for (int i = 0; i < roles.length; i++) {
        roles[i] = role("needs", names.get(i));
      }
      card.need(roles);
    }
  }

  private static ModelCard.@Nullable Lora lora(@Nullable JsonObject lora)
      throws MalformedException {
    return lora == null
        ? null
        : new ModelCard.Lora(lora.text("name"), lora.optionalU32("max_gpu_lora_count"));
  }

  private static void identity(@Nullable JsonObject identity, ModelCard.Builder card)
      throws MalformedException {
    if (identity != null) {
      card.explicitSemantics(entries(identity, "semantics"));
      card.explicitScope(entries(identity, "routing_scope"));
    }
  }

  private static @Nullable Map<String, String> entries(JsonObject identity, String name)
      throws MalformedException {
    JsonObject map = identity.optionalObject(name);
    if (map == null) {
      return null;
    }
    Map<String, String> entries = new HashMap<>();
    for (String key : map.names()) {
      entries.put(key, map.text(key));
    }
    return entries;
  }

  private static RuntimeConfig runtime(JsonObject rc) throws MalformedException {
    JsonObject state = rc.optionalObject("kv_state_endpoint");
    Map<String, Object> rest = new LinkedHashMap<>(rc.tree());
    rest.remove(TAINTS);
    // The token limit is left out: no worker reports the tokens that would have to be set against
    // it, so load would count as incomplete for ever.
    return new RuntimeConfig(
        rc.u32("data_parallel_start_rank", 0),
        rc.u32("data_parallel_size", 1),
        rc.optionalU64("total_kv_blocks"),
        OptionalLong.empty(),
        state == null ? null : RecordParser.endpoint(state, "name"),
        false,
        taints(rc.tree().get(TAINTS)),
        Map.of(RUNTIME, Json.canonical(rest)));
  }

  /** Only their difference counts, so any form will do. */
  private static Set<String> taints(@Nullable Object taints) {
    if (taints == null) {
      return Set.of();
    }
    Set<String> names = new HashSet<>();
    if (taints instanceof List<?> list) {
      list.forEach(taint -> names.add(taint instanceof String name ? name : Json.canonical(taint)));
    } else {
      names.add(Json.canonical(taints));
    }
    return names;
  }
}
