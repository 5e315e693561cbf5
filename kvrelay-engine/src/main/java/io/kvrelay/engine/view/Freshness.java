package io.kvrelay.engine.view;

import io.kvrelay.api.runtime.RelayRuntime;

/**
 * When something was last received, by the local clock. Written by one owner, read by anybody.
 *
 * <p>A reader may see the time and the flag of two different receipts; both are then so recent that
 * the answer is the same.
 */
final class Freshness {
  /** No age makes a value stale. */
  static final long NEVER_STALE = Long.MAX_VALUE;

  private volatile boolean known;
  private volatile long atNanos;

  void received(long nowNanos) {
    atNanos = nowNanos;
    known = true;
  }

  void forget() {
    known = false;
  }

  boolean isKnown() {
    return known;
  }

  long atNanos() {
    return atNanos;
  }

  /**
   * Whether the value may be used now. The clock is read after the receive time: what arrives
   * during the question is not from the future.
   *
   * @param clock the local clock; not read if nothing is ever stale
   * @param maxAgeNanos largest age, or {@link #NEVER_STALE}
   * @return false if nothing was received, or it was received in the future or too long ago
   */
  boolean isFresh(RelayRuntime clock, long maxAgeNanos) {
    if (!known) {
      return false;
    }
    if (maxAgeNanos == NEVER_STALE) {
      return true;
    }
    long age = ageNanos(clock);
    return age >= 0 && age <= maxAgeNanos;
  }

  /** Time since the last receipt, if there was one. */
  long ageNanos(RelayRuntime clock) {
    long received = atNanos;
    return clock.nanoTime() - received;
  }
}
