package io.kvrelay.api;

import java.util.List;

/**
 * A name under which a pool serves a model.
 *
 * @param canonicalModelId the canonical name
 * @param target what it resolves to
 * @param aliases further names, unique
 */
public record ModelRegistration(String canonicalModelId, ModelTarget target, List<String> aliases) {
  /**
   * Checks the names and copies the list.
   *
   * @param canonicalModelId the canonical name
   * @param target what it resolves to
   * @param aliases further names, unique
   * @throws IllegalArgumentException if a name is empty or surrounded by white space, or an alias
   *     is repeated
   */
  public ModelRegistration {
    Check.text(canonicalModelId, "canonicalModelId");
    aliases = Check.unique(aliases, "aliases");
    aliases.forEach(alias -> Check.text(alias, "alias"));
  }

  /**
   * A base model registered under its own name.
   *
   * @param model the model
   * @param aliases further names
   * @return the registration
   */
  public static ModelRegistration base(String model, String... aliases) {
    return new ModelRegistration(model, new ModelTarget.Base(model), List.of(aliases));
  }
}
