package io.kvrelay.api;

import java.util.List;

/**
 * Readiness of one LoRA adapter inside its base model's entry.
 *
 * @param canonicalModelId the adapter's served name
 * @param state its state
 * @param missingRoles roles that no live carrier of the adapter fills
 */
public record AdapterReadiness(
    String canonicalModelId, ServingState state, List<WorkerRole> missingRoles) {
  /**
   * Checks the name and the roles, and copies the list.
   *
   * @param canonicalModelId the adapter's served name
   * @param state its state
   * @param missingRoles roles that no live carrier of the adapter fills
   * @throws IllegalArgumentException if the name is invalid or a role is repeated
   */
  public AdapterReadiness {
    Check.text(canonicalModelId, "canonicalModelId");
    missingRoles = Check.unique(missingRoles, "missingRoles");
  }
}
