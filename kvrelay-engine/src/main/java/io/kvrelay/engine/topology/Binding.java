package io.kvrelay.engine.topology;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import java.util.Collection;
import java.util.Comparator;

/**
 * A name and what it resolves to. Two endpoints may share one; two bindings may not share a name.
 */
record Binding(String model, ModelTarget target) implements Comparable<Binding> {
  private static final Comparator<Binding> ORDER =
      Comparator.comparing(Binding::model, TextOrder.UTF8)
          .thenComparing(b -> b.target() instanceof ModelTarget.Lora)
          .thenComparing(b -> b.target().baseModel(), TextOrder.UTF8)
          .thenComparing(b -> adapterOf(b.target()), TextOrder.UTF8);

  private static String adapterOf(ModelTarget target) {
    return target instanceof ModelTarget.Lora lora ? lora.adapter() : "";
  }

  /** By model, base before adapter, base model, adapter. */
  @Override
  public int compareTo(Binding other) {
    return ORDER.compare(this, other);
  }

  ModelRegistration registration(Collection<String> aliases) {
    return new ModelRegistration(model, target, aliases.stream().sorted(TextOrder.UTF8).toList());
  }

  @Override
  public String toString() {
    return target instanceof ModelTarget.Lora lora
        ? "adapter " + lora.adapter() + " of " + lora.baseModel()
        : "base model " + target.baseModel();
  }
}
