package io.kvrelay.engine.hash;

import java.nio.ByteBuffer;

/**
 * XXH3 of inputs above 240 bytes, for one seed. Immutable.
 *
 * <p>Eight accumulators take one stripe of 64 bytes at a time; a block of 16 stripes walks once
 * through the secret and ends in a scramble. While stripes are taken the accumulators are local
 * variables, not the array: {@link #accumulate} is one long method on purpose, so that they live in
 * registers.
 */
final class Xxh3Long {
  static final int LANES = 8;

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
    this.last = Xxh3Secret.words(secret, 121, LANES);
    this.merge = Xxh3Secret.words(secret, 11, LANES);
  }

  long hash(byte[] in, int offset, int length, long[] accumulators) {
    start(accumulators);
    accumulate(in, offset, (length - 1) / STRIPE_BYTES, accumulators);
    return finish(in, offset + length - STRIPE_BYTES, length, accumulators);
  }

  /** Moves the input through the scratch in pieces of whole blocks. */
  long hash(ByteBuffer in, int offset, int length, Xxh3Scratch scratch) {
    long[] accumulators = scratch.accumulators;
    byte[] bytes = scratch.bytes;
    start(accumulators);
    int striped = (length - 1) / STRIPE_BYTES * STRIPE_BYTES;
    for (int done = 0; done < striped; done += bytes.length) {
      int piece = Math.min(bytes.length, striped - done);
      in.get(offset + done, bytes, 0, piece);
      accumulate(bytes, 0, piece / STRIPE_BYTES, accumulators);
    }
    in.get(offset + length - STRIPE_BYTES, bytes, 0, STRIPE_BYTES);
    return finish(bytes, 0, length, accumulators);
  }

  private static void start(long[] accumulators) {
    accumulators[0] = Xxh3.PRIME32_3;
    accumulators[1] = Xxh3.PRIME64_1;
    accumulators[2] = Xxh3.PRIME64_2;
    accumulators[3] = Xxh3.PRIME64_3;
    accumulators[4] = Xxh3.PRIME64_4;
    accumulators[5] = Xxh3.PRIME32_2;
    accumulators[6] = Xxh3.PRIME64_5;
    accumulators[7] = Xxh3.PRIME32_1;
  }

  /** Takes stripes from the start of a block on. */
  private void accumulate(byte[] in, int offset, int stripes, long[] accumulators) {
    final long[] s = stripe;
    long a0 = accumulators[0];
    long a1 = accumulators[1];
    long a2 = accumulators[2];
    long a3 = accumulators[3];
    long a4 = accumulators[4];
    long a5 = accumulators[5];
    long a6 = accumulators[6];
    long a7 = accumulators[7];
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
    accumulators[0] = a0;
    accumulators[1] = a1;
    accumulators[2] = a2;
    accumulators[3] = a3;
    accumulators[4] = a4;
    accumulators[5] = a5;
    accumulators[6] = a6;
    accumulators[7] = a7;
  }

  /** Takes the last 64 bytes of the input, which may overlap what was taken before, and merges. */
  private long finish(byte[] in, int at, int length, long[] accumulators) {
    long hash = length * Xxh3.PRIME64_1;
    for (int lane = 0; lane < LANES; lane += 2) {
      long d0 = Xxh3.u64(in, at + lane * Long.BYTES);
      long d1 = Xxh3.u64(in, at + lane * Long.BYTES + 8);
      long even = accumulators[lane] + d1 + product(d0 ^ last[lane]);
      long odd = accumulators[lane + 1] + d0 + product(d1 ^ last[lane + 1]);
      hash += Xxh3.fold(even ^ merge[lane], odd ^ merge[lane + 1]);
    }
    return Xxh3.avalanche(hash);
  }

  private static long product(long keyed) {
    return (keyed & LOW) * (keyed >>> 32);
  }

  private static long scramble(long accumulator, long key) {
    return (accumulator ^ (accumulator >>> 47) ^ key) * Xxh3.PRIME32_1;
  }
}
