package io.kvrelay.engine.ingest;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The counters of one ingest. Thread safe; counting allocates nothing. */
final class IngestCounters {
  // Complete from the start and never changed, only its adders are.
  private final Map<IngestCount, LongAdder> counts = new EnumMap<>(IngestCount.class);

  IngestCounters() {
    for (IngestCount what : IngestCount.values()) {
      counts.put(what, new LongAdder());
    }
  }

  void count(IngestCount what) {
    count(what, 1);
  }

  void count(IngestCount what, long by) {
    LongAdder adder = counts.get(what);
    if (adder != null) {
      adder.add(by);
    }
  }

  IngestStatistics read() {
    Map<IngestCount, Long> values = new EnumMap<>(IngestCount.class);
    counts.forEach((what, adder) -> values.put(what, adder.sum()));
    return new IngestStatistics(values);
  }
}
