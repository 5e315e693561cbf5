package io.kvrelay.cli.demo;

/** Blocks computed in the last minute of the input's own time. Grows as needed. One thread. */
final class LoadWindow {
  /** The window's length. */
  static final long MILLIS = 60_000;

  private long[] times = new long[64];
  private long[] amounts = new long[64];
  private int first;
  private int count;
  private long sum;

  /**
   * Adds work.
   *
   * @param nowMillis not before any earlier call's
   * @param blocks how much
   */
  void add(long nowMillis, long blocks) {
    if (blocks == 0) {
      return;
    }
    expire(nowMillis);
    if (count == times.length) {
      grow();
    }
    int at = (first + count++) & (times.length - 1);
    times[at] = nowMillis;
    amounts[at] = blocks;
    sum += blocks;
  }

  /**
   * The load at a time.
   *
   * @param nowMillis not before any earlier call's
   * @return blocks added less than {@link #MILLIS} ago
   */
  long at(long nowMillis) {
    expire(nowMillis);
    return sum;
  }

  private void expire(long nowMillis) {
    while (count > 0 && times[first] <= nowMillis - MILLIS) {
      sum -= amounts[first];
      first = (first + 1) & (times.length - 1);
      count--;
    }
  }

  private void grow() {
    int length = times.length;
    long[] newTimes = new long[length * 2];
    long[] newAmounts = new long[length * 2];
    for (int i = 0; i < count; i++) {
      newTimes[i] = times[(first + i) & (length - 1)];
      newAmounts[i] = amounts[(first + i) & (length - 1)];
    }
    times = newTimes;
    amounts = newAmounts;
    first = 0;
  }
}
