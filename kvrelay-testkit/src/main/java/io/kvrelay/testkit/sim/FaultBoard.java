package io.kvrelay.testkit.sim;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Faults of one family that are to happen, to one publisher or to anyone, and those that did. */
final class FaultBoard<F extends Enum<F>> {
  private final Class<F> kinds;

  // Guarded by this.
  private final FaultBudget<F> anyone;
  private final Map<Long, FaultBudget<F>> own = new HashMap<>();
  private final Map<F, Long> injected;

  FaultBoard(Class<F> kinds) {
    this.kinds = kinds;
    this.anyone = new FaultBudget<>(kinds);
    this.injected = new EnumMap<>(kinds);
  }

  synchronized void add(F fault, int times) {
    anyone.add(fault, times);
  }

  synchronized void add(F fault, long publisherId, int times) {
    own.computeIfAbsent(publisherId, id -> new FaultBudget<>(kinds)).add(fault, times);
  }

  synchronized void clear() {
    own.clear();
    while (anyone.take() != null) {
      // until none is left
    }
  }

  /** What happens now, or null; counted. */
  synchronized @Nullable F take(long publisherId) {
    FaultBudget<F> budget = own.get(publisherId);
    F fault = budget == null ? null : budget.take();
    if (fault == null) {
      fault = anyone.take();
    }
    if (fault != null) {
      injected.merge(fault, 1L, Long::sum);
    }
    return fault;
  }

  synchronized long injected(F fault) {
    return injected.getOrDefault(fault, 0L);
  }
}
