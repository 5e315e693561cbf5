package io.kvrelay.cli.demo;

import java.util.Arrays;

/** Measurements and their exact percentiles. One thread. */
final class Samples {
  private long[] values = new long[1024];
  private int count;
  private boolean sorted;

  void add(long value) {
    if (count == values.length) {
      values = Arrays.copyOf(values, count * 2);
    }
    values[count++] = value;
    sorted = false;
  }

  int count() {
    return count;
  }

  /**
   * A percentile by nearest rank.
   *
   * @param percent above 0, at most 100
   * @return the value that this part of the samples does not exceed
   */
  long percentile(double percent) {
    if (count == 0) {
      throw new IllegalStateException("no samples");
    }
    if (!sorted) {
      Arrays.sort(values, 0, count);
      sorted = true;
    }
    return values[Math.max(0, (int) Math.ceil(percent / 100 * count) - 1)];
  }
}
