package io.kvrelay.cli.config;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.engine.hash.IdentityEntries;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads endpoints with their workers and collects what they come to. */
final class EndpointReader {
  static final Map<String, WorkerRole> ROLES =
      new TreeMap<>(
          Map.of(
              "prefill", WorkerRole.PREFILL,
              "decode", WorkerRole.DECODE,
              "encode", WorkerRole.ENCODE,
              "aggregated", WorkerRole.AGGREGATED));

  /** An adapter of an endpoint. */
  record Adapter(String name, String runtimeName, List<String> aliases, OptionalInt maxLoras) {}

  /** What all workers of an endpoint share. */
  record Shared(
      EndpointId id,
      String model,
      String sourcePath,
      QuerySemantics semantics,
      EndpointId kvState,
      @Nullable Map<String, String> cacheSemantics,
      @Nullable Map<String, String> routingScope,
      List<List<WorkerRole>> needs) {
    /** A card of one worker, under a name. */
    ModelCard.Builder card(long workerId, String name) {
      ModelCard.Builder card =
          ModelCard.builder(id, workerId, name)
              .sourcePath(sourcePath)
              .kvBlockSize(semantics.kvBlockSize())
              .hashFormat(semantics.hashFormat())
              .explicitSemantics(cacheSemantics)
              .explicitScope(routingScope);
      needs.forEach(need -> card.need(need.toArray(WorkerRole[]::new)));
      return card;
    }
  }

  private final EngineEvents engines;
  private final ConfigProblems problems;
  private final List<ModelCard> cards = new ArrayList<>();
  private final Map<EndpointId, Set<Long>> live = new HashMap<>();
  private final List<EventsEntry> events = new ArrayList<>();
  private final Map<EndpointId, List<LoadReport>> loads = new LinkedHashMap<>();

  EndpointReader(EngineEvents engines, ConfigProblems problems) {
    this.engines = engines;
    this.problems = problems;
  }

  RelayFile file(RelayFile.Settings settings) {
    return new RelayFile(settings, cards, live, events, loads);
  }

  void read(Section section, EndpointId id) {
    String model = section.requiredName("model");
    int blockSize = (int) section.requiredNumber("block-size", 1, Integer.MAX_VALUE);
    QueryHashFormat format = section.oneOf("hash-format", RelayFileReader.HASH_FORMATS);
    QuerySemantics semantics =
        new QuerySemantics(blockSize, format == null ? QueryHashFormat.DYNAMO_STANDARD_V1 : format);
    EndpointId kvState = section.parsed("kv-state-endpoint", EndpointId::parse);
    Shared shared =
        new Shared(
            id,
            model,
            section.name("source-path", model),
            semantics,
            kvState == null ? id : kvState,
            identity(section, "cache-semantics"),
            identity(section, "routing-scope"),
            section.alternatives("needs", ROLES));
    WorkerReader workers = new WorkerReader(engines, problems, section, shared, adapters(section));
    for (Section worker : section.sections("workers", ConfigSection.WORKER)) {
      workers.read(worker);
    }
    cards.addAll(workers.cards());
    live.put(id, Set.copyOf(workers.live()));
    events.addAll(workers.events());
    loads.put(id, workers.loads());
  }

  private static @Nullable Map<String, String> identity(Section section, String key) {
    Map<String, String> entries = section.texts(key);
    if (entries != null) {
      try {
        IdentityEntries.of(entries);
      } catch (IllegalArgumentException e) {
        section.refuse(key, entries, String.valueOf(e.getMessage()));
      }
    }
    return entries;
  }

  private static Map<String, Adapter> adapters(Section endpoint) {
    Map<String, Adapter> adapters = new LinkedHashMap<>();
    for (Section section : endpoint.sections("adapters", ConfigSection.ADAPTER)) {
      String name = section.requiredName("name");
      Adapter adapter =
          new Adapter(
              name,
              section.name("runtime-name", name),
              section.names("aliases"),
              section.has("max-loras")
                  ? OptionalInt.of((int) section.number("max-loras", 1, 1, Integer.MAX_VALUE))
                  : OptionalInt.empty());
      if (adapters.putIfAbsent(name, adapter) != null) {
        section.refuse("name", name, "is the name of an adapter above");
      }
    }
    return adapters;
  }

  /** Two ranks that publish to one address under one topic could not be told apart. */
  void checkAddresses() {
    Map<String, EventsEntry> taken = new HashMap<>();
    for (EventsEntry entry : events) {
      check(taken, entry, "live", entry.live() + " topic " + entry.topic(), entry.live());
      if (entry.replay() != null) {
        check(taken, entry, "replay", "replay " + entry.replay(), entry.replay());
      }
    }
  }

  private void check(
      Map<String, EventsEntry> taken, EventsEntry entry, String key, String id, String shown) {
    EventsEntry other = taken.putIfAbsent(id, entry);
    if (other != null) {
      problems.add(
          entry.line(),
          entry.field() + "." + key,
          shown,
          "rank " + entry.member() + " would share it with rank " + other.member());
    }
  }
}
