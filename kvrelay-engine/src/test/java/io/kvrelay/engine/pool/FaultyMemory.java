package io.kvrelay.engine.pool;

/** The heap, except that the allocation of a chosen number fails. */
final class FaultyMemory implements Memory {
  /** Counts down with each allocation; the one that finds 0 fails. Negative: none fails. */
  int untilFailure = -1;

  /** Whether all that come after the one that fails do so too. */
  boolean lasting;

  /** Whether entries of the heap's own maps are refused, and nothing else. */
  boolean refuseEntries;

  /** What fails, if not for lack of memory. */
  RuntimeException instead;

  /** Allocations that failed. */
  int refused;

  private void allocate() {
    if (untilFailure == 0) {
      refused++;
      untilFailure = lasting ? 0 : -1;
      if (instead != null) {
        throw instead;
      }
      throw new OutOfMemoryError("expected by the test");
    }
    if (untilFailure > 0) {
      untilFailure--;
    }
  }

  /** From now on nothing fails. */
  void heal() {
    untilFailure = -1;
    lasting = false;
    refuseEntries = false;
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

  @Override
  public void entry() {
    if (refuseEntries) {
      refused++;
      throw new OutOfMemoryError("expected by the test");
    }
    allocate();
  }
}
