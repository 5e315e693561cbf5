package io.kvrelay.engine.hash;

import java.nio.ByteBuffer;

/**
 * XXH3 of inputs above 240 bytes, for one seed. Immutable.
 *
 * <p>Eight accumulators take one stripe of 64 bytes at a time; a block of 16 stripes walks once
 * through the secret and ends in a scramble. The accumulators are local variables, not an array:
 * this is one long method on purpose, so that they live in registers and a hash allocates nothing.
 */
final class Xxh3Long {
  private static final int STRIPE_BYTES = 64;
  private static final int LAST_STRIPE_IN_BLOCK = 15;
  private static final long LOW = 0xFFFF_FFFFL;

  /** Secret words of the stripes (from 0), of the scramble (from 16). */
  private final long[] stripe;

  /** Secret words of the last stripe, which lie 7 bytes before those of the scramble. */
  private final long[] last;

  /** Secret words of the final merge. */
  private final long[] merge;

  Xxh3Long(long seed) {
    byte[] secret = Xxh3Secret.derive(seed);
    this.stripe = Xxh3Secret.words(secret, 0, 24);
    this.last = Xxh3Secret.words(secret, 121, 8);
    this.merge = Xxh3Secret.words(secret, 11, 8);
  }

  long hash(ByteBuffer in, int offset, int length) {
    final long[] s = stripe;
    long a0 = Xxh3.PRIME32_3;
    long a1 = Xxh3.PRIME64_1;
    long a2 = Xxh3.PRIME64_2;
    long a3 = Xxh3.PRIME64_3;
    long a4 = Xxh3.PRIME64_4;
    long a5 = Xxh3.PRIME32_2;
    long a6 = Xxh3.PRIME64_5;
    long a7 = Xxh3.PRIME32_1;
    int stripes = (length - 1) / STRIPE_BYTES;
    int at = offset;
    for (int n = 0; n < stripes; n++, at += STRIPE_BYTES) {
      int k = n & LAST_STRIPE_IN_BLOCK;
      long d0 = Xxh3.u64(in, at);
      long d1 = Xxh3.u64(in, at + 8);
      long d2 = Xxh3.u64(in, at + 16);
      long d3 = Xxh3.u64(in, at + 24);
      long d4 = Xxh3.u64(in, at + 32);
      long d5 = Xxh3.u64(in, at + 40);
      long d6 = Xxh3.u64(in, at + 48);
      long d7 = Xxh3.u64(in, at + 56);
      a0 += d1 + product(d0 ^ s[k]);
      a1 += d0 + product(d1 ^ s[k + 1]);
      a2 += d3 + product(d2 ^ s[k + 2]);
      a3 += d2 + product(d3 ^ s[k + 3]);
      a4 += d5 + product(d4 ^ s[k + 4]);
      a5 += d4 + product(d5 ^ s[k + 5]);
      a6 += d7 + product(d6 ^ s[k + 6]);
      a7 += d6 + product(d7 ^ s[k + 7]);
      if (k == LAST_STRIPE_IN_BLOCK) {
        a0 = scramble(a0, s[16]);
        a1 = scramble(a1, s[17]);
        a2 = scramble(a2, s[18]);
        a3 = scramble(a3, s[19]);
        a4 = scramble(a4, s[20]);
        a5 = scramble(a5, s[21]);
        a6 = scramble(a6, s[22]);
        a7 = scramble(a7, s[23]);
      }
    }
    at = offset + length - STRIPE_BYTES;
    return Xxh3.avalanche(
        length * Xxh3.PRIME64_1
            + finish(in, at, 0, a0, a1)
            + finish(in, at + 16, 2, a2, a3)
            + finish(in, at + 32, 4, a4, a5)
            + finish(in, at + 48, 6, a6, a7));
  }

  /** The last stripe's share of two accumulators, and their merge. */
  private long finish(ByteBuffer in, int at, int lane, long even, long odd) {
    long d0 = Xxh3.u64(in, at);
    long d1 = Xxh3.u64(in, at + 8);
    long first = even + d1 + product(d0 ^ last[lane]);
    long second = odd + d0 + product(d1 ^ last[lane + 1]);
    return Xxh3.fold(first ^ merge[lane], second ^ merge[lane + 1]);
  }

  private static long product(long keyed) {
    return (keyed & LOW) * (keyed >>> 32);
  }

  private static long scramble(long accumulator, long key) {
    return (accumulator ^ (accumulator >>> 47) ^ key) * Xxh3.PRIME32_1;
  }
}
