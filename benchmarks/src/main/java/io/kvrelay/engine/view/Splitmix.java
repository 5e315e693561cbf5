package io.kvrelay.engine.view;

/** The generator that both sides of a comparison draw from. */
final class Splitmix {
  private long state;

  Splitmix(long state) {
    this.state = state;
  }

  long next() {
    state += 0x9E3779B97F4A7C15L;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** 0..n-1, for a positive n. */
  int below(long n) {
    long x = next();
    return (int) (Math.multiplyHigh(x, n) + ((x >> 63) & n)); // the unsigned high half
  }
}
