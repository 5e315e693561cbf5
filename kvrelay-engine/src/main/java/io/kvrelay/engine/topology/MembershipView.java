package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.RelayHealth;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All endpoints in scope. Complete: an endpoint that is absent is gone.
 *
 * @param endpoints by endpoint text
 * @param ignored cards and names without effect, each with the reason
 */
public record MembershipView(
    SortedMap<EndpointId, EndpointMembership> endpoints, List<RelayHealth.Problem> ignored) {
  /** No endpoint. */
  public static final MembershipView EMPTY = new MembershipView(new TreeMap<>(), List.of());

  /**
   * Copies the collections.
   *
   * @param endpoints by endpoint text
   * @param ignored cards and names without effect, each with the reason
   */
  public MembershipView {
    SortedMap<EndpointId, EndpointMembership> copy = new TreeMap<>(TextOrder.ENDPOINTS);
    copy.putAll(endpoints);
    endpoints = Collections.unmodifiableSortedMap(copy);
    ignored = List.copyOf(ignored);
  }
}
