package io.kvrelay.api;

import java.util.Comparator;

/**
 * The serving endpoint that owns a pool. Descriptive: neither an ingress nor a part of any protocol
 * identity. Compare it as a tuple; the dotted form is for people.
 *
 * @param namespace the namespace
 * @param component the component
 * @param endpoint the endpoint's name
 */
public record EndpointId(String namespace, String component, String endpoint)
    implements Comparable<EndpointId> {
  private static final Comparator<EndpointId> ORDER =
      Comparator.comparing(EndpointId::namespace)
          .thenComparing(EndpointId::component)
          .thenComparing(EndpointId::endpoint);

  /**
   * Checks the three parts.
   *
   * @param namespace the namespace
   * @param component the component
   * @param endpoint the endpoint's name
   * @throws IllegalArgumentException if one is empty or surrounded by white space
   */
  public EndpointId {
    Check.text(namespace, "namespace");
    Check.text(component, "component");
    Check.text(endpoint, "endpoint");
  }

  /**
   * Reads {@code a.b.c} or {@code a/b/c}.
   *
   * @param text the text
   * @return the endpoint
   * @throws IllegalArgumentException if it does not have three valid parts
   */
  public static EndpointId parse(String text) {
    String[] parts = text.split(text.indexOf('/') >= 0 ? "/" : "\\.", -1);
    Check.that(parts.length == 3, "endpoint", text, "must be namespace.component.endpoint");
    return new EndpointId(parts[0], parts[1], parts[2]);
  }

  @Override
  public int compareTo(EndpointId other) {
    return ORDER.compare(this, other);
  }

  /** {@code namespace.component.endpoint}. */
  @Override
  public String toString() {
    return namespace + "." + component + "." + endpoint;
  }
}
