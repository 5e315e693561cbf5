package io.kvrelay.api.flow;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What a subscriber has requested and not yet received, by the Reactive Streams rules: requests add
 * up and saturate (§3.17), and the first one that is not positive is remembered as a fault (§3.9).
 * Requests come from any thread; one thread takes. Allocates nothing but a fault.
 */
public final class Demand {
  private final AtomicLong requested = new AtomicLong();
  private final AtomicBoolean faulty = new AtomicBoolean();
  private volatile @Nullable IllegalArgumentException fault;

  /** Creates an empty demand. */
  public Demand() {}

  /**
   * Adds a request.
   *
   * @param n the number of elements; if not positive it becomes the {@link #fault()}
   */
  public void add(long n) {
    if (n > 0) {
      long before;
      long after;
      do {
        before = requested.get();
        after = before + n < 0 ? Long.MAX_VALUE : before + n;
      } while (!requested.compareAndSet(before, after));
    } else if (faulty.compareAndSet(false, true)) {
      fault = new IllegalArgumentException("request(" + n + "): must be positive");
    }
  }

  /**
   * Whether an element may be delivered.
   *
   * @return true if at least one is wanted
   */
  public boolean isPresent() {
    return requested.get() > 0;
  }

  /**
   * Takes one element off the demand.
   *
   * @return false if none was wanted
   */
  public boolean tryTake() {
    long before;
    do {
      before = requested.get();
      if (before == 0) {
        return false;
      }
      if (before == Long.MAX_VALUE) {
        return true; // effectively unbounded
      }
    } while (!requested.compareAndSet(before, before - 1));
    return true;
  }

  /**
   * The error to end the subscription with.
   *
   * @return the fault, or null if every request was valid
   */
  public @Nullable IllegalArgumentException fault() {
    return fault;
  }
}
