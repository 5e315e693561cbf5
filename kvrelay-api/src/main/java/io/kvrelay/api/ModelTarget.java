package io.kvrelay.api;

/** What a registered name resolves to: a base model, or a LoRA adapter on one. */
public sealed interface ModelTarget {
  /**
   * The base model.
   *
   * @return its name
   */
  String baseModel();

  /**
   * A base model. Its requests are hashed without a LoRA salt.
   *
   * @param baseModel the base model's name
   */
  record Base(String baseModel) implements ModelTarget {
    /**
     * Checks the name.
     *
     * @param baseModel the base model's name
     * @throws IllegalArgumentException if it is empty or surrounded by white space
     */
    public Base {
      Check.text(baseModel, "baseModel");
    }
  }

  /**
   * An adapter on a base model.
   *
   * @param baseModel the base model's name
   * @param adapter the runtime adapter name: the hash salt of its requests
   */
  record Lora(String baseModel, String adapter) implements ModelTarget {
    /**
     * Checks both names.
     *
     * @param baseModel the base model's name
     * @param adapter the runtime adapter name: the hash salt of its requests
     * @throws IllegalArgumentException if one is empty or surrounded by white space
     */
    public Lora {
      Check.text(baseModel, "baseModel");
      Check.text(adapter, "adapter");
    }
  }
}
