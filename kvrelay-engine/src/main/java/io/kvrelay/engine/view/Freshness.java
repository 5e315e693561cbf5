package io.kvrelay.engine.view;

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
   * Whether the value may be used.
   *
   * @param nowNanos the local clock
   * @param maxAgeNanos largest age, or {@link #NEVER_STALE}
   * @return false if nothing was received, or it was received in the future or too long ago
   */
  boolean isFresh(long nowNanos, long maxAgeNanos) {
    if (!known) {
      return false;
    }
    if (maxAgeNanos == NEVER_STALE) {
      return true;
    }
    long age = nowNanos - atNanos;
    return age >= 0 && age <= maxAgeNanos;
  }
}
