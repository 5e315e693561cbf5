package io.kvrelay.engine.view;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The name index of a view at one moment: every name of every current catalog, over all sources and
 * within each endpoint namespace. A name that stands for more than one binding within the scope of
 * a look-up is left out: failing closed is better than guessing between two models.
 *
 * <p>Immutable. Look-ups allocate nothing.
 */
final class Directory {
  static final Directory EMPTY = new Builder().build();

  private record Scope(
      Map<String, Resolution> names, Map<String, Map<String, Resolution>> adapters) {
    @Nullable Resolution find(String model, @Nullable String adapter) {
      Resolution found = names.get(model);
      if (found == null || adapter == null || found.isAmbiguous()) {
        return found;
      }
      Binding base = found.bindings().get(0);
      Map<String, Resolution> onBase = adapters.get(base.target().baseModel());
      Resolution wanted = onBase == null ? null : onBase.get(adapter);
      // Naming an adapter on another adapter is a contradiction, not a choice.
      boolean contradicts =
          base.target() instanceof ModelTarget.Lora
              && wanted != null
              && !wanted.bindings().contains(base);
      return contradicts ? null : wanted;
    }
  }

  private final Scope everywhere;
  private final Map<String, Scope> byNamespace;

  private Directory(Scope everywhere, Map<String, Scope> byNamespace) {
    this.everywhere = everywhere;
    this.byNamespace = byNamespace;
  }

  /**
   * Looks a name up.
   *
   * @param model a served name
   * @param adapter an adapter on it, by its served or its runtime name, or null
   * @param namespace the endpoint namespace to look in, or null for all
   * @return what it resolves to, perhaps ambiguous, or null if nothing serves it
   */
  @Nullable Resolution resolve(String model, @Nullable String adapter, @Nullable String namespace) {
    Scope scope = namespace == null ? everywhere : byNamespace.get(namespace);
    return scope == null ? null : scope.find(model, adapter);
  }

  /** Names that are left out of look-ups over all namespaces. */
  List<String> ambiguousNames() {
    TreeSet<String> names = new TreeSet<>();
    everywhere
        .names()
        .forEach(
            (name, resolution) -> {
              if (resolution.isAmbiguous()) {
                names.add(name);
              }
            });
    return List.copyOf(names);
  }

  /** Collects routes. */
  static final class Builder {
    private final ScopeBuilder everywhere = new ScopeBuilder();
    private final Map<String, ScopeBuilder> byNamespace = new HashMap<>();

    void add(Route route) {
      everywhere.add(route);
      byNamespace
          .computeIfAbsent(
              route.descriptor.servingEndpoint().namespace(), name -> new ScopeBuilder())
          .add(route);
    }

    Directory build() {
      Map<String, Scope> scopes = new HashMap<>();
      byNamespace.forEach((name, builder) -> scopes.put(name, builder.build()));
      return new Directory(everywhere.build(), scopes);
    }
  }

  private static final class ScopeBuilder {
    private final Map<String, Map<Binding, Map<PoolId, Route>>> names = new HashMap<>();
    private final Map<String, Map<String, Map<Binding, Map<PoolId, Route>>>> adapters =
        new HashMap<>();

    void add(Route route) {
      ModelRegistration registration = route.registration;
      Binding binding = new Binding(registration.canonicalModelId(), registration.target());
      for (String name : allNames(registration)) {
        put(names, name, binding, route);
      }
      if (registration.target() instanceof ModelTarget.Lora lora) {
        Map<String, Map<Binding, Map<PoolId, Route>>> onBase =
            adapters.computeIfAbsent(lora.baseModel(), base -> new HashMap<>());
        for (String name : allNames(registration)) {
          put(onBase, name, binding, route);
        }
        put(onBase, lora.adapter(), binding, route);
      }
    }

    private static List<String> allNames(ModelRegistration registration) {
      List<String> names = new ArrayList<>(registration.aliases());
      names.add(registration.canonicalModelId());
      return names;
    }

    private static void put(
        Map<String, Map<Binding, Map<PoolId, Route>>> index,
        String name,
        Binding binding,
        Route route) {
      index
          .computeIfAbsent(name, n -> new LinkedHashMap<>())
          .computeIfAbsent(binding, b -> new LinkedHashMap<>())
          .put(route.descriptor.poolId(), route);
    }

    Scope build() {
      Map<String, Map<String, Resolution>> onBases = new HashMap<>();
      adapters.forEach((base, index) -> onBases.put(base, resolutions(index)));
      return new Scope(resolutions(names), onBases);
    }

    private static Map<String, Resolution> resolutions(
        Map<String, Map<Binding, Map<PoolId, Route>>> index) {
      Map<String, Resolution> resolved = new HashMap<>();
      index.forEach((name, candidates) -> resolved.put(name, Resolution.of(candidates)));
      return resolved;
    }
  }
}
