package io.kvrelay.cli.config;

import io.kvrelay.api.Member;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the workers of one endpoint. */
final class WorkerReader {
  private final EventsReader eventsReader;
  private final Section endpoint;
  private final EndpointReader.Shared shared;
  private final Map<String, EndpointReader.Adapter> adapters;
  private final List<String> aliases;
  private final List<ModelCard> cards = new ArrayList<>();
  private final Set<Long> ids = new HashSet<>();
  private final Set<Long> live = new HashSet<>();
  private final List<EventsEntry> events = new ArrayList<>();
  private final List<LoadReport> loads = new ArrayList<>();

  WorkerReader(
      EngineEvents engines,
      ConfigProblems problems,
      Section endpoint,
      EndpointReader.Shared shared,
      Map<String, EndpointReader.Adapter> adapters) {
    this.eventsReader = new EventsReader(engines, problems, shared);
    this.endpoint = endpoint;
    this.shared = shared;
    this.adapters = adapters;
    this.aliases = endpoint.names("aliases");
  }

  List<ModelCard> cards() {
    return cards;
  }

  Set<Long> live() {
    return live;
  }

  List<EventsEntry> events() {
    return events;
  }

  List<LoadReport> loads() {
    return loads;
  }

  void read(Section section) {
    long id = section.requiredUnsigned("id").orElse(0);
    if (section.has("id") && !ids.add(id)) {
      section.refuse("id", Long.toUnsignedString(id), "is the id of a worker above");
    }
    if (section.flag("live", true)) {
      live.add(id);
    }
    RuntimeConfig runtime = runtime(section);
    ModelCard base = base(section, id, runtime);
    cards.add(base);
    for (EndpointReader.Adapter adapter : carried(section)) {
      cards.add(adapterCard(base, adapter));
    }
    events.addAll(eventsReader.read(section, id, runtime));
    for (Section load : section.sections("load", ConfigSection.LOAD)) {
      loads.add(load(load, id, runtime));
    }
  }

  private RuntimeConfig runtime(Section section) {
    int ranks = (int) section.number("ranks", 1, 1, RuntimeConfig.MAX_RANKS);
    int start = (int) section.number("start-rank", 0, 0, 0xFFFF_FFFFL - ranks);
    Map<String, String> attributes = section.texts("attributes");
    return new RuntimeConfig(
        start,
        ranks,
        inherited(section, "total-kv-blocks"),
        inherited(section, "max-batched-tokens"),
        shared.kvState().equals(shared.id()) ? null : shared.kvState(),
        section.flag("events-suppressed", false),
        Set.copyOf(section.names("taints")),
        attributes == null ? Map.of() : attributes);
  }

  /** The worker's own value, else the endpoint's. */
  private OptionalLong inherited(Section section, String key) {
    return section.has(key) ? section.unsigned(key) : endpoint.unsigned(key);
  }

  private ModelCard base(Section section, long id, RuntimeConfig runtime) {
    Section typed = section.has("model-types") ? section : endpoint;
    return shared
        .card(id, shared.model())
        .aliases(aliases.toArray(String[]::new))
        .role(role(section))
        .modelTypes(typed.names("model-types").toArray(String[]::new))
        .runtime(runtime)
        .build();
  }

  private @Nullable WorkerRole role(Section section) {
    return (section.has("role") ? section : endpoint).oneOf("role", EndpointReader.ROLES);
  }

  private ModelCard adapterCard(ModelCard base, EndpointReader.Adapter adapter) {
    return shared
        .card(base.workerId(), adapter.name())
        .role(base.role())
        .modelTypes(base.modelTypes().toArray(String[]::new))
        .runtime(base.runtime())
        .suffix(adapter.name())
        .aliases(adapter.aliases().toArray(String[]::new))
        .lora(new ModelCard.Lora(adapter.runtimeName(), adapter.maxLoras()))
        .build();
  }

  private List<EndpointReader.Adapter> carried(Section section) {
    if (!section.has("adapters")) {
      return List.copyOf(adapters.values());
    }
    List<EndpointReader.Adapter> carried = new ArrayList<>();
    for (String name : section.names("adapters")) {
      EndpointReader.Adapter adapter = adapters.get(name);
      if (adapter == null) {
        section.refuse(
            "adapters", name, "is no adapter of the endpoint; those are " + adapters.keySet());
      } else {
        carried.add(adapter);
      }
    }
    return carried;
  }

  private static LoadReport load(Section section, long worker, RuntimeConfig runtime) {
    return new LoadReport(
        new Member(worker, rank(section, runtime)),
        section.unsigned("kv-used-blocks"),
        section.unsigned("decode-blocks"),
        section.unsigned("prefill-tokens"));
  }

  /** A rank of the worker; its first one unless given. */
  static int rank(Section section, RuntimeConfig runtime) {
    long first = Integer.toUnsignedLong(runtime.dataParallelStartRank());
    return (int) section.number("rank", first, first, first + runtime.dataParallelSize() - 1);
  }
}
