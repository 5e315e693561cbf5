package io.kvrelay.engine.view;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a load window must satisfy: a growing sequence, and no producer twice. */
final class LoadRules implements WatchPlane.Rules<LoadSnapshot> {
  private final ViewCounters counters;
  private boolean hasSequence;
  private long sequence;

  LoadRules(ViewCounters counters) {
    this.counters = counters;
  }

  @Override
  public void begin() {
    hasSequence = false;
  }

  @Override
  public @Nullable LoadSnapshot judge(LoadSnapshot snapshot) {
    LoadSnapshot.Window window = snapshot.window();
    if (window != null) {
      checkSequence(window.sequence());
    }
    Set<ProducerIdentity> seen = new HashSet<>();
    for (PoolLoad load : snapshot.pools()) {
      if (!seen.add(load.producer())) {
        throw StreamPlane.violation("load producer = " + load.producer() + ": listed twice");
      }
    }
    if (window != null) {
      hasSequence = true;
      sequence = window.sequence();
    }
    counters.increment(ViewCounter.LOAD_WINDOWS_APPLIED);
    counters.add(ViewCounter.LOAD_ENTRIES_QUARANTINED, snapshot.quarantined().size());
    return snapshot;
  }

  private void checkSequence(long next) {
    if (hasSequence && Long.compareUnsigned(next, sequence) <= 0) {
      throw StreamPlane.violation(
          "load window sequence = "
              + Long.toUnsignedString(next)
              + ": not larger than "
              + Long.toUnsignedString(sequence)
              + " on the same stream");
    }
  }
}
