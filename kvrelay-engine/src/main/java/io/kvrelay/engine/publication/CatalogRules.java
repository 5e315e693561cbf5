package io.kvrelay.engine.publication;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.WorkerRole;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a pool's names and roles must obey; each fault names the field and the value. */
final class CatalogRules {
  private CatalogRules() {}

  static void check(List<ModelRegistration> registrations) {
    that(!registrations.isEmpty(), "registrations", registrations, "must not be empty");
    Set<String> models = new HashSet<>();
    for (ModelRegistration registration : registrations) {
      String model = registration.canonicalModelId();
      that(models.add(model), "canonicalModelId", model, "is registered twice in the pool");
    }
    Map<String, String> owners = new HashMap<>();
    for (ModelRegistration registration : registrations) {
      for (String alias : registration.aliases()) {
        that(!models.contains(alias), "alias", alias, "is a model of the pool");
        String owner = owners.put(alias, registration.canonicalModelId());
        that(owner == null, "alias", alias, "belongs to two models of the pool");
      }
    }
  }

  static void checkRoles(List<WorkerRole> roles) {
    that(!roles.isEmpty(), "roles", roles, "must not be empty");
    that(new HashSet<>(roles).size() == roles.size(), "roles", roles, "must be distinct");
  }

  static void that(boolean condition, String field, Object value, String rule) {
    if (!condition) {
      throw new RelayException(
          RelayErrorReason.INVALID_REQUEST, field + " = " + value + ": " + rule);
    }
  }
}
