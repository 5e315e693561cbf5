package io.kvrelay.engine.view;

import io.kvrelay.api.RelayErrorReason;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * Counts since a view was created, read one by one: not a consistent cut. Immutable.
 *
 * @param counts every counter with its value
 * @param failures failed streams by plane and reason; pairs that never occurred are absent
 */
public record ViewStatistics(
    Map<ViewCounter, Long> counts, Map<PlaneKind, Map<RelayErrorReason, Long>> failures) {
  /**
   * Copies the maps.
   *
   * @param counts every counter with its value
   * @param failures failed streams by plane and reason; pairs that never occurred are absent
   */
  public ViewStatistics {
    counts = Collections.unmodifiableMap(new EnumMap<>(counts));
    failures = Map.copyOf(failures);
  }

  /**
   * One counter.
   *
   * @param counter which
   * @return its value
   */
  public long count(ViewCounter counter) {
    return counts.getOrDefault(counter, 0L);
  }

  /**
   * Failed streams of one plane for one reason.
   *
   * @param plane the plane
   * @param reason the reason
   * @return how many
   */
  public long failures(PlaneKind plane, RelayErrorReason reason) {
    return failures.getOrDefault(plane, Map.of()).getOrDefault(reason, 0L);
  }
}
