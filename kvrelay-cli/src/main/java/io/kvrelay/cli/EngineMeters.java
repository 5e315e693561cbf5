package io.kvrelay.cli;

import io.kvrelay.api.EndpointId;
import io.kvrelay.cli.config.EngineEvents;
import io.kvrelay.cli.config.EngineReading;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The counters of the engines' sources as one meter, summed up over the ranks of an endpoint.
 * Series appear with what is counted and leave with their endpoint. Thread safe.
 */
final class EngineMeters {
  static final String NAME = "kvrelay.engine";

  private record Key(EndpointId endpoint, String what) {}

  private record Series(Meter meter, AtomicLong value) {}

  private final EngineEvents engines;
  private final MeterRegistry registry;
  // Guarded by this.
  private final Map<Key, Series> series = new HashMap<>();

  EngineMeters(EngineEvents engines, MeterRegistry registry) {
    this.engines = engines;
    this.registry = registry;
  }

  /** Brings every series up to date. */
  synchronized void refresh() {
    Map<Key, Long> sums = new HashMap<>();
    for (EngineReading reading : engines.readings()) {
      reading
          .counters()
          .forEach(
              (what, count) ->
                  sums.merge(new Key(reading.kvStateEndpoint(), what), count, Long::sum));
    }
    series
        .entrySet()
        .removeIf(
            entry -> {
              boolean gone = !sums.containsKey(entry.getKey());
              if (gone) {
                registry.remove(entry.getValue().meter());
              }
              return gone;
            });
    sums.forEach((key, sum) -> series.computeIfAbsent(key, this::register).value().set(sum));
  }

  private Series register(Key key) {
    AtomicLong value = new AtomicLong();
    FunctionCounter meter =
        FunctionCounter.builder(NAME, value, AtomicLong::get)
            .tag("endpoint", key.endpoint().toString())
            .tag("what", key.what())
            .description("What became of the messages of an endpoint's engines")
            .register(registry);
    return new Series(meter, value);
  }
}
