package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Text;
import java.util.HashSet;
import java.util.List;

/**
 * Which part of a deployment a relay looks at: all of it or some namespaces, narrowed down by
 * endpoint prefixes if there are any ({@code ns}, {@code ns.comp}, {@code ns.comp.endpoint}).
 *
 * @param watchAll true for every namespace; then {@code namespaces} is empty
 * @param namespaces the namespaces, at least one unless {@code watchAll}; a provider makes one
 *     query for each
 * @param endpointPrefixes dotted texts of one, two or three parts; empty: all is in scope
 */
public record DiscoveryScope(
    boolean watchAll, List<String> namespaces, List<String> endpointPrefixes) {
  /** Everything. */
  public static final DiscoveryScope ALL = new DiscoveryScope(true, List.of(), List.of());

  /**
   * Checks the scope and copies the lists.
   *
   * @param watchAll true for every namespace; then {@code namespaces} is empty
   * @param namespaces the namespaces, at least one unless {@code watchAll}; a provider makes one
   *     query for each
   * @param endpointPrefixes dotted texts of one, two or three parts; empty: all is in scope
   * @throws IllegalArgumentException if both or none of the two ways are chosen, a text is empty,
   *     surrounded by white space or repeated, or a prefix lies outside the namespaces
   */
  public DiscoveryScope {
    namespaces = texts(namespaces, "namespaces");
    endpointPrefixes = texts(endpointPrefixes, "endpointPrefixes");
    if (watchAll != namespaces.isEmpty()) {
      throw new IllegalArgumentException(
          "namespaces = "
              + namespaces
              + ": must be "
              + (watchAll ? "empty when all are watched" : "given unless all are watched"));
    }
    if (!watchAll) {
      for (String prefix : endpointPrefixes) {
        checkInside(prefix, namespaces);
      }
    }
  }

  private static void checkInside(String prefix, List<String> namespaces) {
    if (namespaces.stream().noneMatch(n -> prefix.equals(n) || prefix.startsWith(n + "."))) {
      throw new IllegalArgumentException(
          "endpointPrefixes = \"" + prefix + "\": must lie in one of the namespaces " + namespaces);
    }
  }

  private static List<String> texts(List<String> values, String field) {
    List<String> copy = List.copyOf(values);
    for (String value : copy) {
      if (!Text.isValid(value)) {
        throw new IllegalArgumentException(
            field + " = \"" + value + "\": must not be empty or surrounded by white space");
      }
    }
    if (new HashSet<>(copy).size() != copy.size()) {
      throw new IllegalArgumentException(field + " = " + copy + ": must not hold one value twice");
    }
    return copy;
  }

  /**
   * Some namespaces, without prefixes.
   *
   * @param namespaces at least one
   * @return the scope
   * @throws IllegalArgumentException if a namespace is not acceptable
   */
  public static DiscoveryScope of(String... namespaces) {
    return new DiscoveryScope(false, List.of(namespaces), List.of());
  }

  /**
   * Whether an endpoint is in scope. Prefixes compare whole parts: {@code ns.comp} matches {@code
   * ns.comp.x} and not {@code ns.component.x}.
   *
   * @param endpoint the endpoint
   * @return true if it is
   */
  public boolean matches(EndpointId endpoint) {
    if (!watchAll && !namespaces.contains(endpoint.namespace())) {
      return false;
    }
    String component = endpoint.namespace() + "." + endpoint.component();
    return endpointPrefixes.isEmpty()
        || endpointPrefixes.contains(endpoint.namespace())
        || endpointPrefixes.contains(component)
        || endpointPrefixes.contains(component + "." + endpoint.endpoint());
  }
}
