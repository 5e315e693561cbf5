package io.kvrelay.engine.hash;

/** Working memory of a thread that hashes long inputs. Reusable, not thread safe, 8 KiB. */
public final class Xxh3Scratch {
  /** A whole number of blocks of 1024 bytes, and no more than stays in the first-level cache. */
  private static final int BYTES = 8 * 1024;

  final long[] accumulators = new long[Xxh3Long.LANES];
  final byte[] bytes = new byte[BYTES];

  /** Creates a scratch. */
  public Xxh3Scratch() {}
}
