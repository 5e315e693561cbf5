package io.kvrelay.engine.pool;

/**
 * Where the exact state gets its arrays from. A refused allocation is an {@link OutOfMemoryError},
 * of the virtual machine or of a test. It is turned into {@code ALLOCATION_FAILED} before anything
 * was changed; where the change has begun, what was refused is something that it can do without.
 */
interface Memory {
  /** The heap. */
  Memory HEAP =
      new Memory() {
        @Override
        public long[] longs(long length) {
          return new long[checked(length)];
        }

        @Override
        public int[] ints(long length) {
          return new int[checked(length)];
        }
      };

  /** A zeroed array. */
  long[] longs(long length);

  /** A zeroed array. */
  int[] ints(long length);

  /** Asked before the heap's own maps get an entry, which a test may refuse. */
  default void entry() {}

  /** Longest array that every common virtual machine can make. */
  int LONGEST = Integer.MAX_VALUE - 8;

  private static int checked(long length) {
    if (length > LONGEST) {
      throw new OutOfMemoryError("array of " + length + " elements");
    }
    return (int) length;
  }
}
