package io.kvrelay.engine.relay;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Serving readiness out of what the host says of each pool, evaluated as a deployment's facts are:
 * a model of a namespace is ready if every role that its pools declare is filled by a serving one.
 */
final class StatedReadiness {
  /** A pool and what the host says of it. */
  record Statement(PoolDescriptor pool, ServingState state) {}

  private record Key(String namespace, String model) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byNamespace = namespace.compareTo(other.namespace);
      return byNamespace != 0 ? byNamespace : model.compareTo(other.model);
    }
  }

  private StatedReadiness() {}

  /** Entries in the order of namespace and model. */
  static List<TopologyEntry> entries(List<Statement> statements) {
    Map<Key, List<Statement>> byModel = new TreeMap<>();
    for (Statement statement : statements) {
      for (String model : baseModels(statement.pool())) {
        byModel
            .computeIfAbsent(
                new Key(statement.pool().servingEndpoint().namespace(), model),
                key -> new ArrayList<>())
            .add(statement);
      }
    }
    List<TopologyEntry> entries = new ArrayList<>();
    byModel.forEach((key, members) -> entries.add(entry(key, members)));
    return entries;
  }

  private static Set<String> baseModels(PoolDescriptor pool) {
    Set<String> models = new TreeSet<>();
    for (ModelRegistration registration : pool.registrations()) {
      models.add(registration.target().baseModel());
    }
    return models;
  }

  private static TopologyEntry entry(Key key, List<Statement> members) {
    Roles roles = new Roles();
    members.forEach(roles::add);
    ServingState state = roles.state();
    boolean unknown = state == ServingState.UNKNOWN;
    List<WorkerRole> missing = unknown ? List.of() : roles.missing();
    return new TopologyEntry(
        key.namespace(),
        key.model(),
        state,
        unknown ? List.of() : roles.present(),
        missing,
        members(members),
        roles.duplicates(),
        roles.isUntyped(),
        adapters(key.model(), members, state, missing));
  }

  /** What the pools of one entry declare, and what those that serve provide. */
  private static final class Roles {
    private final EnumSet<WorkerRole> declared = EnumSet.noneOf(WorkerRole.class);
    private final EnumSet<WorkerRole> served = EnumSet.noneOf(WorkerRole.class);
    private final EnumSet<WorkerRole> servedTwice = EnumSet.noneOf(WorkerRole.class);
    private boolean unknown;

    void add(Statement member) {
      declared.addAll(member.pool().roles());
      unknown |= member.state() == ServingState.UNKNOWN;
      if (member.state() == ServingState.READY) {
        for (WorkerRole role : member.pool().roles()) {
          if (!served.add(role)) {
            servedTwice.add(role);
          }
        }
      }
    }

    /** A pool without a role switches the check of roles off. */
    boolean isUntyped() {
      return declared.contains(WorkerRole.LEGACY);
    }

    ServingState state() {
      if (unknown) {
        return ServingState.UNKNOWN;
      }
      return !served.isEmpty() && missing().isEmpty()
          ? ServingState.READY
          : ServingState.UNAVAILABLE;
    }

    List<WorkerRole> present() {
      return typed(served);
    }

    List<WorkerRole> missing() {
      EnumSet<WorkerRole> missing = EnumSet.copyOf(declared);
      missing.removeAll(served);
      return isUntyped() ? List.of() : List.copyOf(missing);
    }

    List<WorkerRole> duplicates() {
      EnumSet<WorkerRole> worthKnowing = EnumSet.of(WorkerRole.PREFILL, WorkerRole.DECODE);
      worthKnowing.retainAll(servedTwice);
      return List.copyOf(worthKnowing);
    }

    private static List<WorkerRole> typed(EnumSet<WorkerRole> roles) {
      return roles.stream().filter(role -> role != WorkerRole.LEGACY).toList();
    }
  }

  private static List<TopologyMember> members(List<Statement> statements) {
    return statements.stream()
        .map(Statement::pool)
        .sorted(Comparator.comparing(pool -> pool.servingEndpoint().toString()))
        .map(
            pool ->
                new TopologyMember(
                    pool.servingEndpoint(),
                    List.copyOf(EnumSet.copyOf(pool.roles())),
                    pool.poolId()))
        .toList();
  }

  private static List<AdapterReadiness> adapters(
      String model, List<Statement> members, ServingState base, List<WorkerRole> missing) {
    Set<String> names = new TreeSet<>();
    for (Statement member : members) {
      for (ModelRegistration registration : member.pool().registrations()) {
        if (registration.target() instanceof ModelTarget.Lora lora
            && lora.baseModel().equals(model)) {
          names.add(registration.canonicalModelId());
        }
      }
    }
    return names.stream().map(name -> new AdapterReadiness(name, base, missing)).toList();
  }
}
