package io.kvrelay.testkit.engine;

import org.jspecify.annotations.Nullable;

/**
 * One event before it is written. Hashes are whole digests; the writer shortens them as its engine
 * does.
 *
 * @param kind what happened
 * @param hashes digests of the blocks
 * @param parent digest of the block before the first one, or null
 * @param tokens tokens of all blocks
 * @param blockSize tokens of a block
 * @param medium storage medium, or null
 * @param adapter adapter name, or null
 * @param salt cache salt, or null
 */
@SuppressWarnings("ArrayRecordComponent") // handed over, never compared
record EngineEvent(
    Kind kind,
    byte[][] hashes,
    byte @Nullable [] parent,
    int[] tokens,
    int blockSize,
    @Nullable String medium,
    @Nullable String adapter,
    @Nullable String salt) {
  private static final byte[][] NONE = {};
  private static final int[] NO_TOKENS = {};

  /** What happened. */
  enum Kind {
    STORED,
    REMOVED,
    CLEARED
  }

  static EngineEvent removed(byte[][] hashes, @Nullable String medium) {
    return new EngineEvent(Kind.REMOVED, hashes, null, NO_TOKENS, 0, medium, null, null);
  }

  static EngineEvent cleared() {
    return new EngineEvent(Kind.CLEARED, NONE, null, NO_TOKENS, 0, null, null, null);
  }
}
