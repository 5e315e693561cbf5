package io.kvrelay.micrometer;

import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps one sample for a moment, so that one scrape of many meters takes the statistics once.
 * Thread safe.
 */
final class Sampler<S> {
  private static final long FRESH_NANOS = 100_000_000;

  private final Supplier<S> source;
  private final LongSupplier nanoTime;
  // Guarded by this.
  private @Nullable S sample;
  private long takenNanos;

  Sampler(Supplier<S> source, LongSupplier nanoTime) {
    this.source = source;
    this.nanoTime = nanoTime;
  }

  synchronized S get() {
    long now = nanoTime.getAsLong();
    S known = sample;
    if (known == null || now - takenNanos >= FRESH_NANOS) {
      known = source.get();
      sample = known;
      takenNanos = now;
    }
    return known;
  }

  /** The next reader takes a new one. */
  synchronized void expire() {
    sample = null;
  }
}
