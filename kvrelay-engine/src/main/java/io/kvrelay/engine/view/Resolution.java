package io.kvrelay.engine.view;

import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuerySemantics;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one name resolves to: its pools in pool order, grouped by how they are hashed, and within
 * that by table. Immutable and prepared, so that a query only walks arrays.
 */
final class Resolution {
  /** Pools that are hashed alike; one computation of hashes serves them all. */
  @SuppressWarnings("ArrayRecordComponent") // walked on a hot path, never compared
  record HashGroup(QuerySemantics semantics, int[] routes, TableGroup[] tables) {}

  /** Pools of one table; one search serves them all. */
  @SuppressWarnings("ArrayRecordComponent") // walked on a hot path, never compared
  record TableGroup(ViewTable table, int[] routes) {}

  private final List<Binding> bindings;
  private final List<Route> routes;
  private final List<HashGroup> groups;

  private Resolution(List<Binding> bindings, List<Route> routes) {
    this.bindings = bindings;
    this.routes = routes;
    this.groups = group(routes);
  }

  static Resolution of(Map<Binding, Map<PoolId, Route>> candidates) {
    List<Binding> bindings = List.copyOf(candidates.keySet());
    if (bindings.size() != 1) {
      return new Resolution(bindings, List.of());
    }
    List<Route> routes = new ArrayList<>(candidates.values().iterator().next().values());
    routes.sort(Comparator.comparing(route -> route.descriptor.poolId()));
    return new Resolution(bindings, List.copyOf(routes));
  }

  private static List<HashGroup> group(List<Route> routes) {
    Map<QuerySemantics, List<Integer>> bySemantics = new LinkedHashMap<>();
    for (int i = 0; i < routes.size(); i++) {
      bySemantics
          .computeIfAbsent(
              routes.get(i).descriptor.querySemantics(), semantics -> new ArrayList<>())
          .add(i);
    }
    List<HashGroup> groups = new ArrayList<>();
    bySemantics.forEach(
        (semantics, members) ->
            groups.add(new HashGroup(semantics, ints(members), tables(routes, members))));
    return List.copyOf(groups);
  }

  private static TableGroup[] tables(List<Route> routes, List<Integer> members) {
    Map<ViewTable, List<Integer>> byTable = new LinkedHashMap<>();
    for (int i : members) {
      ViewTable table = routes.get(i).slot.table();
      if (table != null) {
        byTable.computeIfAbsent(table, t -> new ArrayList<>()).add(i);
      }
    }
    List<TableGroup> groups = new ArrayList<>();
    byTable.forEach((table, at) -> groups.add(new TableGroup(table, ints(at))));
    return groups.toArray(new TableGroup[0]);
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }

  /** A name that stands for several things has no routes. */
  boolean isAmbiguous() {
    return bindings.size() > 1;
  }

  List<Binding> bindings() {
    return bindings;
  }

  List<Route> routes() {
    return routes;
  }

  List<HashGroup> groups() {
    return groups;
  }

  /** The hash salt of the target's requests: the runtime adapter name, nothing for a base model. */
  @Nullable String adapterSalt() {
    return bindings.get(0).target() instanceof ModelTarget.Lora lora ? lora.adapter() : null;
  }
}
