package io.kvrelay.engine.topology;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The rules once more, rule by rule over plain lists of cards, without any of the product's
 * structures. Names of its cards are plain ASCII, so that their order is everybody's.
 */
final class NaiveTopology {
  record Claim(String name, ModelTarget target) {}

  record Endpoint(
      boolean domain,
      Set<String> registrations,
      Set<WorkerRole> roles,
      Set<ConflictScope> conflicts,
      Map<String, Set<Long>> carriers) {}

  record Entry(
      ServingState state,
      List<WorkerRole> present,
      List<WorkerRole> missing,
      List<WorkerRole> duplicates,
      boolean legacy,
      List<AdapterReadiness> adapters,
      List<EndpointId> members) {}

  private final List<ModelCard> cards;
  private final Map<EndpointId, Set<Long>> live;
  private final Map<String, Boolean> ambiguity = new HashMap<>();
  private Map<EndpointId, Endpoint> membership;

  NaiveTopology(List<ModelCard> cards, Map<EndpointId, Set<Long>> live) {
    this.cards = cards.stream().map(ModelCard::normalized).toList();
    this.live = live;
  }

  private static boolean valid(String name) {
    return !name.isEmpty() && !name.startsWith(" ");
  }

  private static boolean half(ModelCard card) {
    return (card.suffix() == null) == (card.lora() != null);
  }

  private List<ModelCard> of(EndpointId endpoint) {
    return cards.stream().filter(c -> c.endpoint().equals(endpoint)).toList();
  }

  List<ModelCard> bases(EndpointId endpoint) {
    return of(endpoint).stream()
        .filter(c -> !half(c) && c.lora() == null && valid(c.modelName()))
        .toList();
  }

  private String baseOf(ModelCard adapter) {
    return bases(adapter.endpoint()).stream()
        .filter(b -> b.workerId() == adapter.workerId())
        .map(ModelCard::modelName)
        .sorted()
        .findFirst()
        .orElse(null);
  }

  private List<ModelCard> adapters(EndpointId endpoint) {
    return of(endpoint).stream()
        .filter(c -> !half(c) && c.lora() != null)
        .filter(c -> baseOf(c) != null && valid(c.modelName()) && valid(c.lora().name()))
        .toList();
  }

  private Claim claim(ModelCard card) {
    return new Claim(
        card.modelName(),
        card.lora() == null
            ? new ModelTarget.Base(card.modelName())
            : new ModelTarget.Lora(baseOf(card), card.lora().name()));
  }

  private List<ModelCard> claimants(EndpointId endpoint) {
    List<ModelCard> all = new ArrayList<>(bases(endpoint));
    all.addAll(adapters(endpoint));
    return all;
  }

  private boolean ambiguous(String name) {
    Boolean known = ambiguity.get(name);
    if (known == null) {
      known = isAmbiguous(name);
      ambiguity.put(name, known);
    }
    return known;
  }

  private boolean isAmbiguous(String name) {
    Set<Claim> claims = new HashSet<>();
    for (EndpointId endpoint : endpoints()) {
      for (ModelCard card : claimants(endpoint)) {
        if (card.modelName().equals(name) || card.aliases().contains(name)) {
          claims.add(claim(card));
        }
      }
    }
    return claims.size() > 1;
  }

  Set<EndpointId> endpoints() {
    Set<EndpointId> all = new TreeSet<>();
    cards.forEach(card -> all.add(card.endpoint()));
    return all;
  }

  private static List<Object> domainOf(ModelCard card) {
    Object material =
        card.explicitSemantics() == null ? card.sourcePath() : card.explicitSemantics();
    Object scope = card.explicitScope() == null ? card.endpoint() : card.explicitScope();
    return List.of(material, card.kvBlockSize(), card.hashFormat(), scope);
  }

  private Set<ConflictScope> ownConflicts(EndpointId endpoint) {
    Set<ConflictScope> conflicts = new HashSet<>();
    List<ModelCard> bases = bases(endpoint);
    for (ModelCard card : of(endpoint)) {
      boolean badBase = card.lora() == null && !valid(card.modelName());
      if (half(card) || badBase) {
        conflicts.add(ConflictScope.SERVING_BINDING);
        continue;
      }
      if (card.lora() != null) {
        boolean anyBase =
            of(endpoint).stream()
                .anyMatch(c -> !half(c) && c.lora() == null && c.workerId() == card.workerId());
        if (anyBase && !adapters(endpoint).contains(card)) {
          conflicts.add(ConflictScope.SERVING_BINDING);
        }
      }
    }
    if (bases.stream().anyMatch(b -> b.kvBlockSize() == 0)
        || bases.stream().map(NaiveTopology::domainOf).distinct().count() > 1) {
      conflicts.add(ConflictScope.POOL_MATERIALIZATION);
    }
    if (bases.stream().map(ModelCard::modelName).distinct().count() > 1
        || bases.stream().map(ModelCard::workerId).distinct().count() < bases.size()) {
      conflicts.add(ConflictScope.SERVING_TOPOLOGY);
    }
    for (ModelCard a : adapters(endpoint)) {
      if (disputed(a)) {
        conflicts.add(ConflictScope.POOL_MATERIALIZATION);
      }
    }
    if (claimants(endpoint).stream().anyMatch(c -> ambiguous(c.modelName()))) {
      conflicts.add(ConflictScope.SERVING_BINDING);
    }
    return conflicts;
  }

  private boolean disputed(ModelCard a) {
    return adapters(a.endpoint()).stream()
        .anyMatch(
            b ->
                b.workerId() == a.workerId()
                    && b.modelName().equals(a.modelName())
                    && !b.lora().maxGpuLoraCount().equals(a.lora().maxGpuLoraCount()));
  }

  private Endpoint ownEndpoint(EndpointId endpoint) {
    Set<ConflictScope> conflicts = ownConflicts(endpoint);
    List<ModelCard> bases = bases(endpoint);
    Map<String, TreeSet<String>> registrations = new TreeMap<>();
    Map<String, Set<Long>> carriers = new TreeMap<>();
    for (ModelCard card : claimants(endpoint)) {
      if (!ambiguous(card.modelName())) {
        TreeSet<String> aliases =
            registrations.computeIfAbsent(
                card.modelName() + "->" + claim(card).target(), k -> new TreeSet<>());
        card.aliases().stream()
            .filter(a -> valid(a) && !a.equals(card.modelName()) && !ambiguous(a))
            .forEach(aliases::add);
        if (card.lora() != null) {
          Set<Long> workers = carriers.computeIfAbsent(card.modelName(), k -> new TreeSet<>());
          if (!disputed(card)) {
            workers.add(card.workerId());
          }
        }
      }
    }
    Set<String> flat = new TreeSet<>();
    registrations.forEach((name, aliases) -> flat.add(name + aliases));
    Set<WorkerRole> roles = new TreeSet<>();
    bases.forEach(b -> roles.add(b.role() == null ? WorkerRole.LEGACY : b.role()));
    boolean domain =
        !bases.isEmpty()
            && bases.stream().noneMatch(b -> b.kvBlockSize() == 0)
            && bases.stream().map(NaiveTopology::domainOf).distinct().count() == 1;
    return new Endpoint(domain, flat, roles, conflicts, carriers);
  }

  private boolean allowsPool(EndpointId endpoint) {
    Endpoint own = ownEndpoint(endpoint);
    return own.domain()
        && !own.registrations().isEmpty()
        && !own.conflicts().contains(ConflictScope.POOL_MATERIALIZATION)
        && !own.conflicts().contains(ConflictScope.SERVING_TOPOLOGY);
  }

  Map<EndpointId, Endpoint> membership() {
    if (membership == null) {
      membership = allEndpoints();
    }
    return membership;
  }

  private Map<EndpointId, Endpoint> allEndpoints() {
    Map<EndpointId, Endpoint> all = new HashMap<>();
    for (EndpointId endpoint : endpoints()) {
      Endpoint own = ownEndpoint(endpoint);
      boolean shared =
          allowsPool(endpoint)
              && endpoints().stream()
                  .anyMatch(
                      other ->
                          !other.equals(endpoint)
                              && allowsPool(other)
                              && domainOf(bases(other).get(0))
                                  .equals(domainOf(bases(endpoint).get(0))));
      if (shared) {
        own.conflicts().add(ConflictScope.POOL_MATERIALIZATION);
      }
      all.put(endpoint, own);
    }
    return all;
  }

  /** By "namespace/model". */
  Map<String, Entry> entries() {
    Map<String, List<EndpointId>> groups = new TreeMap<>();
    membership()
        .forEach(
            (endpoint, own) -> {
              String base =
                  bases(endpoint).stream()
                      .map(ModelCard::modelName)
                      .filter(m -> !ambiguous(m))
                      .findFirst()
                      .orElse(null);
              if (base != null && !own.conflicts().contains(ConflictScope.SERVING_TOPOLOGY)) {
                groups
                    .computeIfAbsent(endpoint.namespace() + "/" + base, k -> new ArrayList<>())
                    .add(endpoint);
              }
            });
    Map<String, Entry> entries = new TreeMap<>();
    groups.forEach((key, members) -> entries.put(key, entry(members)));
    return entries;
  }

  private boolean isLive(ModelCard card) {
    return live.getOrDefault(card.endpoint(), Set.of()).contains(card.workerId());
  }

  private Entry entry(List<EndpointId> members) {
    members.sort((a, b) -> a.toString().compareTo(b.toString()));
    List<ModelCard> workers = new ArrayList<>();
    members.forEach(m -> workers.addAll(bases(m)));
    List<ModelCard> alive = workers.stream().filter(this::isLive).toList();
    boolean legacy = workers.stream().anyMatch(w -> w.role() == null);
    Set<WorkerRole> present = new TreeSet<>();
    alive.stream().map(ModelCard::role).filter(Objects::nonNull).forEach(present::add);
    Set<WorkerRole> missing = new TreeSet<>();
    Set<WorkerRole> duplicates = new TreeSet<>();
    if (!legacy) {
      workers.stream().map(ModelCard::role).filter(r -> !present.contains(r)).forEach(missing::add);
      for (ModelCard worker : alive) {
        boolean met = worker.needs().isEmpty();
        for (List<WorkerRole> alternative : worker.needs()) {
          met |= present.containsAll(alternative);
        }
        if (!met) {
          worker.needs().forEach(missing::addAll);
        }
      }
      missing.removeAll(present);
      for (WorkerRole role : List.of(WorkerRole.PREFILL, WorkerRole.DECODE)) {
        long units =
            alive.stream()
                .filter(w -> w.role() == role)
                .map(w -> List.of(w.endpoint(), w.modelTypes(), w.needs()))
                .distinct()
                .count();
        if (units > 1) {
          duplicates.add(role);
        }
      }
    }
    boolean unknown = members.stream().anyMatch(m -> !live.containsKey(m));
    boolean ready = !alive.isEmpty() && missing.isEmpty();
    ServingState state =
        unknown ? ServingState.UNKNOWN : ready ? ServingState.READY : ServingState.UNAVAILABLE;
    return new Entry(
        state,
        unknown ? List.of() : List.copyOf(present),
        unknown ? List.of() : List.copyOf(missing),
        List.copyOf(duplicates),
        legacy,
        adapterStates(members, workers, alive, state, legacy, missing),
        members);
  }

  private List<AdapterReadiness> adapterStates(
      List<EndpointId> members,
      List<ModelCard> workers,
      List<ModelCard> alive,
      ServingState base,
      boolean legacy,
      Set<WorkerRole> baseMissing) {
    Map<EndpointId, Endpoint> membership = membership();
    Set<String> names = new TreeSet<>();
    members.forEach(m -> names.addAll(membership.get(m).carriers().keySet()));
    List<AdapterReadiness> states = new ArrayList<>();
    for (String name : names) {
      List<ModelCard> carrying =
          alive.stream()
              .filter(
                  w ->
                      membership
                          .get(w.endpoint())
                          .carriers()
                          .getOrDefault(name, Set.of())
                          .contains(w.workerId()))
              .toList();
      Set<WorkerRole> lacking = new TreeSet<>();
      for (ModelCard worker : workers) {
        WorkerRole role = worker.role();
        boolean applicable = role != null && role != WorkerRole.ENCODE;
        if (applicable && carrying.stream().noneMatch(c -> c.role() == role)) {
          lacking.add(role);
        }
      }
      if (base == ServingState.UNKNOWN) {
        states.add(new AdapterReadiness(name, base, List.of()));
      } else if (legacy) {
        boolean ready = base == ServingState.READY && !carrying.isEmpty();
        states.add(
            new AdapterReadiness(
                name, ready ? ServingState.READY : ServingState.UNAVAILABLE, List.of()));
      } else {
        boolean ready = base == ServingState.READY && !carrying.isEmpty() && lacking.isEmpty();
        lacking.addAll(baseMissing);
        states.add(
            new AdapterReadiness(
                name, ready ? ServingState.READY : ServingState.UNAVAILABLE, List.copyOf(lacking)));
      }
    }
    return states;
  }
}
