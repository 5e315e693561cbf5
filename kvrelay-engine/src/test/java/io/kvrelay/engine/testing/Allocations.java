package io.kvrelay.engine.testing;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Measures what the current thread allocates. */
public final class Allocations {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final int ATTEMPTS = 5;

  private Allocations() {}

  /**
   * Bytes that a batch of runs of an action allocates in steady state: the least of a few batches,
   * so that a first run that grows a reusable object does not count.
   */
  public static long bytes(int runs, Runnable action) {
    long least = Long.MAX_VALUE;
    for (int attempt = 0; attempt < ATTEMPTS && least != 0; attempt++) {
      long before = THREADS.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < runs; i++) {
        action.run();
      }
      least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
    }
    return least;
  }
}
