package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One endpoint while its cards are being read: base cards first, then adapter cards, then the names
 * that more than one binding claims anywhere. Not thread safe.
 */
final class EndpointDraft {
  private record Carrier(long workerId, String servedName) {}

  private final EndpointId endpoint;
  private final Consumer<String> ignored;
  private final TreeSet<Conflict> conflicts = new TreeSet<>();
  private final TreeMap<Long, WorkerFacts> workers = new TreeMap<>(Long::compareUnsigned);
  private final Map<Long, String> baseOfWorker = new TreeMap<>();
  private final Set<Long> namelessWorkers = new HashSet<>();
  private final Set<@Nullable PoolBasis> bases = new LinkedHashSet<>();
  private final TreeSet<String> baseModels = new TreeSet<>(TextOrder.UTF8);
  private final TreeMap<Binding, TreeSet<String>> bindings = new TreeMap<>();
  private final TreeMap<Binding, TreeMap<Long, OptionalInt>> carriers = new TreeMap<>();
  private final Map<Carrier, OptionalInt> capacities = new HashMap<>();
  private final Set<Carrier> disputed = new HashSet<>();

  EndpointDraft(EndpointId endpoint, Consumer<String> ignored) {
    this.endpoint = endpoint;
    this.ignored = ignored;
  }

  /** A card that is half a base card and half an adapter card. */
  void halfAdapter(ModelCard card) {
    conflict(
        ConflictScope.SERVING_BINDING,
        where(card)
            + (card.lora() == null
                ? ": suffix = \"" + card.suffix() + "\" without an adapter"
                : ": adapter = \"" + card.lora().name() + "\" without a suffix"));
  }

  void base(ModelCard card, @Nullable PoolBasis basis) {
    String model = card.modelName();
    if (!TextOrder.isName(model)) {
      namelessWorkers.add(card.workerId());
      conflict(
          ConflictScope.SERVING_BINDING,
          where(card) + ": modelName = \"" + model + "\" is not a name");
      return;
    }
    bases.add(basis);
    if (basis == null) {
      conflict(ConflictScope.POOL_MATERIALIZATION, where(card) + ": kvBlockSize = 0");
    }
    baseModels.add(model);
    if (workers.containsKey(card.workerId())) {
      conflict(ConflictScope.SERVING_TOPOLOGY, where(card) + " has more than one base card");
    } else {
      baseOfWorker.put(card.workerId(), model);
      workers.put(
          card.workerId(),
          new WorkerFacts(
              card.workerId(), card.role(), card.modelTypes(), card.needs(), card.runtime()));
    }
    claim(new Binding(model, new ModelTarget.Base(model)), card);
  }

  void adapter(ModelCard card) {
    String base = baseOfWorker.get(card.workerId());
    boolean nameless = namelessWorkers.contains(card.workerId());
    if (base == null && !nameless) {
      ignored.accept(where(card) + ": adapter without a base card on its worker");
      return;
    }
    String adapter = Objects.requireNonNull(card.lora()).name();
    if (base == null || !TextOrder.isName(card.modelName()) || !TextOrder.isName(adapter)) {
      conflict(
          ConflictScope.SERVING_BINDING,
          where(card)
              + ": one of modelName = \""
              + card.modelName()
              + "\", lora.name = \""
              + adapter
              + "\" and the base model is not a name");
      return;
    }
    Binding binding = new Binding(card.modelName(), new ModelTarget.Lora(base, adapter));
    claim(binding, card);
    carry(binding, card);
  }

  private void carry(Binding binding, ModelCard card) {
    OptionalInt capacity = Objects.requireNonNull(card.lora()).maxGpuLoraCount();
    Carrier carrier = new Carrier(card.workerId(), binding.model());
    OptionalInt stated = capacities.putIfAbsent(carrier, capacity);
    if (stated != null && !stated.equals(capacity)) {
      disputed.add(carrier);
      conflict(
          ConflictScope.POOL_MATERIALIZATION,
          where(card) + ": capacities for adapter \"" + binding.model() + "\" differ");
    }
    carriers
        .computeIfAbsent(binding, b -> new TreeMap<>(Long::compareUnsigned))
        .put(card.workerId(), capacity);
  }

  private void claim(Binding binding, ModelCard card) {
    TreeSet<String> aliases = bindings.computeIfAbsent(binding, b -> new TreeSet<>(TextOrder.UTF8));
    for (String alias : card.aliases()) {
      if (!TextOrder.isName(alias)) {
        ignored.accept(where(card) + ": alias \"" + alias + "\" is not a name");
      } else if (!alias.equals(binding.model())) {
        aliases.add(alias);
      }
    }
  }

  /** Every name this endpoint claims, with the binding that claims it. */
  void claims(BiConsumer<String, Binding> sink) {
    bindings.forEach(
        (binding, aliases) -> {
          sink.accept(binding.model(), binding);
          aliases.forEach(alias -> sink.accept(alias, binding));
        });
  }

  /** What remains once ambiguous names are left out. */
  EndpointContent content(Predicate<String> ambiguous) {
    if (bases.size() > 1) {
      conflict(ConflictScope.POOL_MATERIALIZATION, "base cards name " + bases.size() + " domains");
    }
    if (baseModels.size() > 1) {
      conflict(ConflictScope.SERVING_TOPOLOGY, "base models " + baseModels + " on one endpoint");
    }
    List<ModelRegistration> registrations = registrations(ambiguous);
    List<AdapterBinding> adapters = adapters(ambiguous);
    return new EndpointContent(
        endpoint,
        bases.size() == 1 ? bases.iterator().next() : null,
        registrations,
        roles(),
        List.copyOf(workers.values()),
        adapters,
        List.copyOf(conflicts));
  }

  private List<ModelRegistration> registrations(Predicate<String> ambiguous) {
    List<ModelRegistration> registrations = new ArrayList<>();
    bindings.forEach(
        (binding, aliases) -> {
          if (ambiguous.test(binding.model())) {
            conflict(
                ConflictScope.SERVING_BINDING,
                "name \"" + binding.model() + "\" is claimed by more than " + binding);
            return;
          }
          List<String> kept = new ArrayList<>(aliases);
          if (kept.removeIf(ambiguous)) {
            ignored.accept(endpoint + ": aliases of " + binding.model() + " that others claim");
          }
          registrations.add(binding.registration(kept));
        });
    return registrations;
  }

  private List<AdapterBinding> adapters(Predicate<String> ambiguous) {
    List<AdapterBinding> adapters = new ArrayList<>();
    carriers.forEach(
        (binding, workerCapacities) -> {
          if (!ambiguous.test(binding.model())) {
            workerCapacities
                .keySet()
                .removeIf(worker -> disputed.contains(new Carrier(worker, binding.model())));
            adapters.add(
                new AdapterBinding(
                    binding.model(), (ModelTarget.Lora) binding.target(), workerCapacities));
          }
        });
    return Collections.unmodifiableList(adapters);
  }

  private List<WorkerRole> roles() {
    return workers.values().stream().map(WorkerFacts::listedRole).distinct().sorted().toList();
  }

  private void conflict(ConflictScope scope, String detail) {
    conflicts.add(new Conflict(scope, detail));
  }

  private static String where(ModelCard card) {
    return "worker " + Long.toUnsignedString(card.workerId());
  }
}
