package io.kvrelay.engine.view;

import io.kvrelay.engine.ckf.SplitMix64;

/** The generator that both sides of a comparison draw from. */
final class Splitmix {
  private long state;

  Splitmix(long state) {
    this.state = state;
  }

  long next() {
    state += SplitMix64.GAMMA;
    return SplitMix64.mix(state);
  }

  /** 0..n-1, for a positive n. */
  int below(long n) {
    long x = next();
    return (int) (Math.multiplyHigh(x, n) + ((x >> 63) & n)); // the unsigned high half
  }
}
