package io.kvrelay.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Meters that are registered together and leave together. Not thread safe. */
final class MeterSet {
  private final MeterRegistry registry;
  private final Tags tags;
  private final List<Meter> meters = new ArrayList<>();

  MeterSet(MeterRegistry registry, Tags tags) {
    this.registry = registry;
    this.tags = tags;
  }

  /** Registers meters whose values come from the sample of the moment. */
  <S> void add(List<MeterSpec<S>> specs, Supplier<S> sample) {
    for (MeterSpec<S> spec : specs) {
      for (MeterSpec.Series<S> series : spec.series()) {
        meters.add(register(spec, series, sample));
      }
    }
  }

  private <S> Meter register(MeterSpec<S> spec, MeterSpec.Series<S> series, Supplier<S> sample) {
    Tags all = tags.and(series.tags());
    // The supplier is the meter's state and is held by the function as well, so that no meter
    // loses its value before it is removed.
    if (spec.counter()) {
      return FunctionCounter.builder(
              spec.name(), sample, unused -> series.value().applyAsDouble(sample.get()))
          .tags(all)
          .baseUnit(spec.unit())
          .description(spec.description())
          .register(registry);
    }
    return Gauge.builder(spec.name(), sample, from -> series.value().applyAsDouble(from.get()))
        .strongReference(true)
        .tags(all)
        .baseUnit(spec.unit())
        .description(spec.description())
        .register(registry);
  }

  void remove() {
    meters.forEach(registry::remove);
    meters.clear();
  }
}
