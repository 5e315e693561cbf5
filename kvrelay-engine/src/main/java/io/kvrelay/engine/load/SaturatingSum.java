package io.kvrelay.engine.load;

/**
 * A sum of unsigned 64-bit values that can lose a summand again. Kept exactly, in 128 bits; only
 * its reading saturates.
 */
final class SaturatingSum {
  private long high;
  private long low;

  void add(long value) {
    low += value;
    if (Long.compareUnsigned(low, value) < 0) {
      high++;
    }
  }

  void subtract(long value) {
    if (Long.compareUnsigned(low, value) < 0) {
      high--;
    }
    low -= value;
  }

  void clear() {
    high = 0;
    low = 0;
  }

  /** 2^64-1 if the sum does not fit. */
  long value() {
    return high == 0 ? low : -1L;
  }
}
