package io.kvrelay.testkit.sim;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Faults that are to happen: how many of each kind. Kinds come in the order of their declaration.
 * Guarded by its owner.
 */
final class FaultBudget<F extends Enum<F>> {
  private final Map<F, Integer> pending;

  FaultBudget(Class<F> kinds) {
    pending = new EnumMap<>(kinds);
  }

  void add(F fault, int times) {
    if (times < 0) {
      throw new IllegalArgumentException("times = " + times + ": must not be negative");
    }
    pending.merge(fault, times, Integer::sum);
  }

  /** The next fault, or null. */
  @Nullable F take() {
    for (Map.Entry<F, Integer> entry : pending.entrySet()) {
      if (entry.getValue() > 0) {
        entry.setValue(entry.getValue() - 1);
        return entry.getKey();
      }
    }
    return null;
  }
}
