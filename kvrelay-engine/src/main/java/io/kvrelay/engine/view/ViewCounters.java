package io.kvrelay.engine.view;

import io.kvrelay.api.RelayErrorReason;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** The live counters of one view. Thread safe; counting allocates nothing. */
final class ViewCounters {
  private final Map<ViewCounter, LongAdder> counts = adders(ViewCounter.class);
  private final Map<PlaneKind, Map<RelayErrorReason, LongAdder>> failures =
      new EnumMap<>(PlaneKind.class);

  ViewCounters() {
    for (PlaneKind plane : PlaneKind.values()) {
      failures.put(plane, adders(RelayErrorReason.class));
    }
  }

  private static <E extends Enum<E>> Map<E, LongAdder> adders(Class<E> keys) {
    Map<E, LongAdder> adders = new EnumMap<>(keys);
    for (E key : keys.getEnumConstants()) {
      adders.put(key, new LongAdder());
    }
    return adders;
  }

  void add(ViewCounter counter, long amount) {
    Objects.requireNonNull(counts.get(counter)).add(amount);
  }

  void increment(ViewCounter counter) {
    add(counter, 1);
  }

  void failure(PlaneKind plane, RelayErrorReason reason) {
    Objects.requireNonNull(Objects.requireNonNull(failures.get(plane)).get(reason)).increment();
  }

  ViewStatistics snapshot() {
    Map<ViewCounter, Long> all = new EnumMap<>(ViewCounter.class);
    counts.forEach((counter, adder) -> all.put(counter, adder.sum()));
    Map<PlaneKind, Map<RelayErrorReason, Long>> failed = new EnumMap<>(PlaneKind.class);
    failures.forEach(
        (plane, byReason) -> {
          Map<RelayErrorReason, Long> occurred = new EnumMap<>(RelayErrorReason.class);
          byReason.forEach(
              (reason, adder) -> {
                if (adder.sum() > 0) {
                  occurred.put(reason, adder.sum());
                }
              });
          if (!occurred.isEmpty()) {
            failed.put(plane, Map.copyOf(occurred));
          }
        });
    return new ViewStatistics(all, failed);
  }
}
