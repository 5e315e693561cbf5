package io.kvrelay.engine.view;

import io.kvrelay.api.ModelTarget;

/** What a name stands for: one registered model or adapter with its target. */
record Binding(String canonicalModelId, ModelTarget target) {
  @Override
  public String toString() {
    return canonicalModelId + " (" + target + ")";
  }
}
