package io.kvrelay.api;

import java.util.List;

/**
 * Serving readiness of one base model in one namespace.
 *
 * @param namespace key
 * @param canonicalModelId key
 * @param state readiness over the whole namespace
 * @param presentRoles live typed roles; empty when the state is unknown
 * @param missingRoles missing typed roles; empty when the state is unknown
 * @param members the endpoints that take part, at least one
 * @param duplicateRoleEndpoints roles that more than one endpoint declares; an observation
 * @param legacyFallbackActive true if a card without a role switched strict gating off
 * @param adapters readiness per adapter
 */
public record TopologyEntry(
    String namespace,
    String canonicalModelId,
    ServingState state,
    List<WorkerRole> presentRoles,
    List<WorkerRole> missingRoles,
    List<TopologyMember> members,
    List<WorkerRole> duplicateRoleEndpoints,
    boolean legacyFallbackActive,
    List<AdapterReadiness> adapters) {
  /**
   * Checks texts and sets, and copies the lists.
   *
   * @param namespace key
   * @param canonicalModelId key
   * @param state readiness over the whole namespace
   * @param presentRoles live typed roles; empty when the state is unknown
   * @param missingRoles missing typed roles; empty when the state is unknown
   * @param members the endpoints that take part, at least one
   * @param duplicateRoleEndpoints roles that more than one endpoint declares; an observation
   * @param legacyFallbackActive true if a card without a role switched strict gating off
   * @param adapters readiness per adapter
   * @throws IllegalArgumentException if a text is invalid, a set repeats a value, or there is no
   *     member
   */
  public TopologyEntry {
    Check.text(namespace, "namespace");
    Check.text(canonicalModelId, "canonicalModelId");
    presentRoles = Check.unique(presentRoles, "presentRoles");
    missingRoles = Check.unique(missingRoles, "missingRoles");
    duplicateRoleEndpoints = Check.unique(duplicateRoleEndpoints, "duplicateRoleEndpoints");
    members = List.copyOf(members);
    adapters = List.copyOf(adapters);
    Check.that(!members.isEmpty(), "members", members, "must not be empty");
  }
}
