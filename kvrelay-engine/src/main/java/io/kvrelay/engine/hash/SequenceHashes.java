package io.kvrelay.engine.hash;

import java.util.Objects;

/**
 * The chain from local hashes to sequence hashes, the canonical names of prefixes. Producer and
 * search chain through this class; nothing else in the engine chains hashes.
 *
 * <p>Static, thread safe, allocation-free except where an array is returned. The chain seed is
 * never salted: salts act through the local hashes alone.
 */
public final class SequenceHashes {
  /** Seed of the chain. */
  public static final long CHAIN_SEED = 1337;

  private static final Xxh3 CHAIN = Xxh3.withSeed(CHAIN_SEED);

  private SequenceHashes() {}

  /**
   * The sequence hash of a first block.
   *
   * @param local its local hash
   * @return the same value: a root is not hashed
   */
  public static long root(long local) {
    return local;
  }

  /**
   * The sequence hash of a block that follows another.
   *
   * @param parent sequence hash of the block before it
   * @param local its local hash
   * @return the sequence hash
   */
  public static long child(long parent, long local) {
    return CHAIN.hashLongs(parent, local);
  }

  /**
   * Chains a sequence from its root.
   *
   * @param locals local hashes
   * @param from index of the root
   * @param to index after the last one
   * @param out receives the sequence hashes; may be {@code locals} itself
   * @param outFrom where the root's goes; not above {@code from} if both are one array
   */
  public static void chain(long[] locals, int from, int to, long[] out, int outFrom) {
    Objects.checkFromToIndex(from, to, locals.length);
    Objects.checkFromIndexSize(outFrom, to - from, out.length);
    if (from == to) {
      return;
    }
    out[outFrom] = root(locals[from]);
    chainAfter(out[outFrom], locals, from + 1, to, out, outFrom + 1);
  }

  /**
   * Chains blocks that follow a known prefix.
   *
   * @param parent sequence hash of the prefix
   * @param locals local hashes
   * @param from index of the first one
   * @param to index after the last one
   * @param out receives the sequence hashes; may be {@code locals} itself
   * @param outFrom where the first one goes; not above {@code from} if both are one array
   */
  public static void chainAfter(
      long parent, long[] locals, int from, int to, long[] out, int outFrom) {
    Objects.checkFromToIndex(from, to, locals.length);
    Objects.checkFromIndexSize(outFrom, to - from, out.length);
    CHAIN.chain(parent, locals, from, to, out, outFrom);
  }

  /**
   * Chains a whole sequence.
   *
   * @param locals local hashes
   * @return the sequence hashes, in a new array
   */
  public static long[] chain(long... locals) {
    long[] out = new long[locals.length];
    chain(locals, 0, locals.length, out, 0);
    return out;
  }
}
