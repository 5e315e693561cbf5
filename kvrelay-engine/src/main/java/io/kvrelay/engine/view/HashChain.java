package io.kvrelay.engine.view;

import io.kvrelay.engine.hash.SequenceHashes;

/**
 * The sequence hashes of one prompt, chained from local hashes only as far as they are asked for,
 * or taken as they are. Not thread safe; grows to the longest prompt it has seen.
 */
final class HashChain {
  private long[] own = new long[64];
  private long[] hashes = own;
  private int offset;
  private long[] locals = own;
  private int localsFrom;
  private int chained;

  /** Chains a range of local hashes on demand. */
  void ofLocals(long[] localHashes, int from, int to) {
    int length = to - from;
    if (own.length < length) {
      own = new long[Math.max(length, 2 * own.length)];
    }
    hashes = own;
    offset = 0;
    locals = localHashes;
    localsFrom = from;
    chained = 0;
    if (length > 0) {
      own[0] = SequenceHashes.root(localHashes[from]);
      chained = 1;
    }
  }

  /** Takes a range of sequence hashes. */
  void ofSequence(long[] sequenceHashes, int from, int to) {
    hashes = sequenceHashes;
    offset = from;
    chained = to - from;
  }

  /**
   * Chains all positions below one.
   *
   * @return the hashes; position 0 lies at {@link #offset}
   */
  long[] upTo(int end) {
    if (end > chained) {
      SequenceHashes.chainAfter(
          own[chained - 1], locals, localsFrom + chained, localsFrom + end, own, chained);
      chained = end;
    }
    return hashes;
  }

  int offset() {
    return offset;
  }

  /** The hash of a position; chains up to it. */
  long at(int position) {
    return upTo(position + 1)[offset + position];
  }

  /** Lets go of the caller's array. */
  void release() {
    hashes = own;
    locals = own;
  }
}
