package io.kvrelay.engine.ingest;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * What one ingest has done since it started. Each number is recent; together they are no single
 * moment's.
 *
 * @param counts by kind, in declaration order; complete and immutable
 */
public record IngestStatistics(Map<IngestCount, Long> counts) {
  /**
   * Copies the map, and fills in zeros.
   *
   * @param counts by kind
   */
  public IngestStatistics {
    Map<IngestCount, Long> copy = new EnumMap<>(IngestCount.class);
    for (IngestCount what : IngestCount.values()) {
      copy.put(what, counts.getOrDefault(what, 0L));
    }
    counts = Collections.unmodifiableMap(copy);
  }

  /**
   * One number.
   *
   * @param what the kind
   * @return how often
   */
  public long of(IngestCount what) {
    return counts.getOrDefault(what, 0L);
  }
}
