package io.kvrelay.engine.ckf;

/**
 * The filter's generator and its finalizer: splitmix64 (Steele, Lea, Flood, "Fast Splittable
 * Pseudorandom Number Generators", 2014). The generator picks eviction victims only; it is not a
 * source of secrets.
 *
 * <p>Not thread safe, allocates nothing.
 */
public final class SplitMix64 {
  /** The odd constant by which the generator steps: 2^64 over the golden ratio. */
  public static final long GAMMA = 0x9E3779B97F4A7C15L;

  private long state;

  private SplitMix64(long state) {
    this.state = state;
  }

  /**
   * The generator of a filter with this addressing seed: its state is one output of a generator
   * started from the seed and lane 0.
   */
  static SplitMix64 forFilter(long seed) {
    return new SplitMix64(new SplitMix64(seed ^ GAMMA).next());
  }

  long next() {
    state += GAMMA;
    return mix(state);
  }

  /**
   * The finalizer: a bijection that spreads what is close. Pure.
   *
   * @param value any value
   * @return its image
   */
  public static long mix(long value) {
    long z = value;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  long state() {
    return state;
  }
}
