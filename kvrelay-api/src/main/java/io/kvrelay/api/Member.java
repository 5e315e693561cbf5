package io.kvrelay.api;

/**
 * One data-parallel rank of one worker: the owner of KV blocks.
 *
 * @param workerId the worker (unsigned)
 * @param dpRank the data-parallel rank inside the worker (unsigned 32 bits)
 */
public record Member(long workerId, int dpRank) implements Comparable<Member> {
  @Override
  public int compareTo(Member other) {
    int byWorker = Long.compareUnsigned(workerId, other.workerId);
    return byWorker != 0 ? byWorker : Integer.compareUnsigned(dpRank, other.dpRank);
  }

  /** {@code worker/rank}, unsigned. */
  @Override
  public String toString() {
    return Long.toUnsignedString(workerId) + "/" + Integer.toUnsignedString(dpRank);
  }
}
