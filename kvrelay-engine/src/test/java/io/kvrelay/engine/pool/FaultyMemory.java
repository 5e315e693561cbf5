package io.kvrelay.engine.pool;

/** The heap, except that the allocation of a chosen number fails. */
final class FaultyMemory implements Memory {
  /** Counts down with each allocation; the one that finds 0 fails. Negative: none fails. */
  int untilFailure = -1;

  /** What fails, if not for lack of memory. */
  RuntimeException instead;

  private void allocate() {
    if (untilFailure-- == 0) {
      if (instead != null) {
        throw instead;
      }
      throw new OutOfMemoryError("expected by the test");
    }
  }

  @Override
  public long[] longs(long length) {
    allocate();
    return HEAP.longs(length);
  }

  @Override
  public int[] ints(long length) {
    allocate();
    return HEAP.ints(length);
  }
}
