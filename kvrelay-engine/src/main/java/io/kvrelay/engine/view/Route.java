package io.kvrelay.engine.view;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.WorkerRole;
import java.util.List;
import java.util.Set;

/**
 * One pool under one of its names, with everything a query needs of it. Immutable but for the slot.
 */
final class Route {
  final PoolSlot slot;
  final PoolDescriptor descriptor;
  final ModelRegistration registration;
  final PoolReadiness readiness;

  Route(
      PoolSlot slot,
      PoolDescriptor descriptor,
      ModelRegistration registration,
      PoolReadiness readiness) {
    this.slot = slot;
    this.descriptor = descriptor;
    this.registration = registration;
    this.readiness = readiness;
  }

  boolean hasAnyOf(Set<WorkerRole> wanted) {
    List<WorkerRole> roles = descriptor.roles();
    for (int i = 0; i < roles.size(); i++) {
      if (wanted.contains(roles.get(i))) {
        return true;
      }
    }
    return false;
  }
}
