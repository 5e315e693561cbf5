package io.kvrelay.engine.topology;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Readiness of one base model in one namespace: a pure function of the endpoints that serve it.
 * Roles are kept in the order of {@link WorkerRole} throughout.
 */
final class EntryRules {
  private static final Set<WorkerRole> ADAPTER_ROLES =
      EnumSet.of(WorkerRole.PREFILL, WorkerRole.DECODE, WorkerRole.AGGREGATED);
  private static final Set<WorkerRole> LISTED_DUPLICATES =
      EnumSet.of(WorkerRole.PREFILL, WorkerRole.DECODE);

  /** An endpoint of the entry; {@code live} is null while nothing authoritative is known. */
  record Input(EndpointContent content, @Nullable Set<Long> live, @Nullable PoolId link) {
    boolean isLive(long workerId) {
      return live != null && live.contains(workerId);
    }
  }

  /** Workers of one endpoint that are alike. */
  private record UnitKey(
      @Nullable WorkerRole role, Set<String> modelTypes, List<List<WorkerRole>> needs) {}

  private final List<Input> inputs;
  private final Set<WorkerRole> declared = EnumSet.noneOf(WorkerRole.class);
  private final Set<WorkerRole> present = EnumSet.noneOf(WorkerRole.class);
  private final Set<WorkerRole> missing = EnumSet.noneOf(WorkerRole.class);
  private final Map<WorkerRole, Integer> liveUnits = new EnumMap<>(WorkerRole.class);
  private boolean legacy;
  private boolean ready;

  private EntryRules(List<Input> inputs) {
    this.inputs = inputs;
  }

  static TopologyEntry evaluate(String namespace, String model, List<Input> inputs) {
    EntryRules rules = new EntryRules(inputs);
    rules.evaluateUnits();
    return rules.entry(namespace, model);
  }

  private void evaluateUnits() {
    List<UnitKey> live = new ArrayList<>();
    boolean anyLive = false;
    for (Input input : inputs) {
      for (Map.Entry<UnitKey, Integer> unit : units(input).entrySet()) {
        WorkerRole role = unit.getKey().role();
        legacy |= role == null;
        if (role != null) {
          declared.add(role);
        }
        if (unit.getValue() > 0) {
          anyLive = true;
          live.add(unit.getKey());
        }
      }
    }
    for (UnitKey unit : live) {
      if (unit.role() != null) {
        present.add(unit.role());
        liveUnits.merge(unit.role(), 1, Integer::sum);
      }
    }
    if (!legacy) {
      missing.addAll(declared);
      missing.removeAll(present);
      live.forEach(unit -> addUnmet(unit.needs()));
    }
    ready = anyLive && missing.isEmpty();
  }

  private static Map<UnitKey, Integer> units(Input input) {
    Map<UnitKey, Integer> units = new LinkedHashMap<>();
    for (WorkerFacts worker : input.content().workers()) {
      units.merge(
          new UnitKey(worker.role(), worker.modelTypes(), worker.needs()),
          input.isLive(worker.workerId()) ? 1 : 0,
          Integer::sum);
    }
    return units;
  }

  /** No alternative is met: every absent role of all of them is missing. */
  private void addUnmet(List<List<WorkerRole>> needs) {
    if (needs.stream().noneMatch(present::containsAll)) {
      needs.forEach(missing::addAll);
      missing.removeAll(present);
    }
  }

  private TopologyEntry entry(String namespace, String model) {
    ServingState state = state();
    boolean unknown = state == ServingState.UNKNOWN;
    return new TopologyEntry(
        namespace,
        model,
        state,
        unknown ? List.of() : List.copyOf(present),
        unknown ? List.of() : List.copyOf(missing),
        members(),
        duplicates(),
        legacy,
        adapters(state));
  }

  private ServingState state() {
    if (inputs.stream().anyMatch(input -> input.live() == null)) {
      return ServingState.UNKNOWN;
    }
    return ready ? ServingState.READY : ServingState.UNAVAILABLE;
  }

  private List<TopologyMember> members() {
    return inputs.stream()
        .map(
            input ->
                new TopologyMember(
                    input.content().endpoint(), input.content().roles(), input.link()))
        .toList();
  }

  private List<WorkerRole> duplicates() {
    if (legacy) {
      return List.of();
    }
    return LISTED_DUPLICATES.stream().filter(r -> liveUnits.getOrDefault(r, 0) > 1).toList();
  }

  private List<AdapterReadiness> adapters(ServingState base) {
    Map<String, Carriers> byName = new TreeMap<>(TextOrder.UTF8);
    for (Input input : inputs) {
      for (AdapterBinding adapter : input.content().adapters()) {
        byName.computeIfAbsent(adapter.servedName(), n -> new Carriers()).add(input, adapter);
      }
    }
    List<AdapterReadiness> readiness = new ArrayList<>();
    byName.forEach((name, carriers) -> readiness.add(carriers.readiness(name, base)));
    return readiness;
  }

  /** The live workers that carry one adapter. */
  private final class Carriers {
    private final Set<WorkerRole> carried = EnumSet.noneOf(WorkerRole.class);
    private boolean any;

    private void add(Input input, AdapterBinding adapter) {
      for (WorkerFacts worker : input.content().workers()) {
        if (adapter.carriers().containsKey(worker.workerId()) && input.isLive(worker.workerId())) {
          any = true;
          carried.add(worker.listedRole());
        }
      }
    }

    private AdapterReadiness readiness(String name, ServingState base) {
      if (base == ServingState.UNKNOWN) {
        return new AdapterReadiness(name, base, List.of());
      }
      Set<WorkerRole> lacking = EnumSet.noneOf(WorkerRole.class);
      if (!legacy) {
        lacking.addAll(declared);
        lacking.retainAll(ADAPTER_ROLES);
        lacking.removeAll(carried);
      }
      boolean complete = base == ServingState.READY && any && lacking.isEmpty();
      return new AdapterReadiness(name, complete ? base : ServingState.UNAVAILABLE, union(lacking));
    }

    private List<WorkerRole> union(Collection<WorkerRole> lacking) {
      Set<WorkerRole> all = EnumSet.copyOf(missing);
      all.addAll(lacking);
      return List.copyOf(all);
    }
  }
}
