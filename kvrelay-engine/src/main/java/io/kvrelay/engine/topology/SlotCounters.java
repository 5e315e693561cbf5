package io.kvrelay.engine.topology;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What happened to all slots of a relay; only grows. Thread safe. */
public final class SlotCounters {
  /** What is counted. */
  public enum Event {
    /** Generations whose start began. */
    STARTS,
    /** Starts that failed. */
    START_FAILURES,
    /**
     * Generations stopped right after their start because what they were started for had changed.
     */
    CANDIDATES_STOPPED,
    /** Updates of a running generation. */
    UPDATES,
    /** Updates that were not applied. */
    FAILED_UPDATES,
    /** Generations retired gracefully. */
    GRACEFUL_RETIREMENTS,
    /** Generations fenced. */
    FENCED_RETIREMENTS,
    /** Source faults handled. */
    FAULTS_HANDLED,
    /** Source faults dropped because a pending one says as much. */
    FAULTS_COALESCED,
    /** Source faults dropped because their generation was being retired. */
    FAULTS_DISCARDED,
    /** Steps of a teardown or a reconcile that failed; the slot went on. */
    FAILED_STEPS
  }

  private final Map<Event, LongAdder> adders = new EnumMap<>(Event.class);

  /** All zero. */
  public SlotCounters() {
    for (Event event : Event.values()) {
      adders.put(event, new LongAdder());
    }
  }

  void count(Event event) {
    count(event, 1);
  }

  void count(Event event, int times) {
    adders.getOrDefault(event, new LongAdder()).add(times);
  }

  /**
   * One counter.
   *
   * @param event what is counted
   * @return how often it happened
   */
  public long get(Event event) {
    return adders.getOrDefault(event, new LongAdder()).sum();
  }
}
