package io.kvrelay.events.zmq;

import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.hash.Xxh3Scratch;
import java.util.Arrays;

/**
 * Digests of the batches that a replay brought. A live batch with a lower sequence than expected is
 * the same batch on its other way if its bytes are those that the replay brought under its
 * sequence; with other bytes it comes from another process. Bounded; not thread safe.
 */
final class ReplayOverlap {
  private static final int MAX = 1 << 14;
  private static final Xxh3 DIGEST = Xxh3.withSeed(0);

  private final Xxh3Scratch scratch;
  private long[] digests = {};
  private long first;
  private long size;

  ReplayOverlap(Xxh3Scratch scratch) {
    this.scratch = scratch;
  }

  /** Takes a batch. If it does not follow the one before it, those before are forgotten. */
  void add(long sequence, byte[] payload) {
    if (sequence != first + size) {
      first = sequence;
      size = 0;
    }
    if (size == digests.length && size < MAX) {
      digests = Arrays.copyOf(digests, (int) Math.max(16, 2 * size));
    }
    digests[(int) (size % MAX)] = digest(payload);
    size++;
  }

  private long digest(byte[] payload) {
    return DIGEST.hash(payload, 0, payload.length, scratch);
  }

  /** Whether the replay brought exactly this batch. */
  boolean holds(long sequence, byte[] payload) {
    long index = sequence - first;
    return index >= Math.max(0, size - MAX)
        && index < size
        && digests[(int) (index % MAX)] == digest(payload);
  }

  /** Whether a sequence lies before everything that is remembered. */
  boolean isAfter(long sequence) {
    return size > 0 && sequence - first < Math.max(0, size - MAX);
  }

  void clear() {
    digests = new long[0];
    first = 0;
    size = 0;
  }
}
