package io.kvrelay.engine.view;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * One candidate pool in an answer.
 *
 * @param descriptor the pool as its catalog shows it
 * @param registration the registration by which it was found
 * @param answer whether it has a depth, and if not why
 * @param depth leading blocks it probably holds; -1 without an answer
 * @param queryBlocks blocks of the request under this pool's semantics; -1 if not known
 * @param readiness its readiness for the name
 * @param load its load
 * @param catalogFresh false if the catalog that shows the pool is older than the configured age
 * @param detail where its replica stands, for people
 */
public record PoolMatch(
    PoolDescriptor descriptor,
    ModelRegistration registration,
    PoolAnswer answer,
    int depth,
    int queryBlocks,
    PoolReadiness readiness,
    LoadReading load,
    boolean catalogFresh,
    String detail) {
  /**
   * The pool.
   *
   * @return its id; {@code poolId().dcId()} is the data center
   */
  public PoolId poolId() {
    return descriptor.poolId();
  }

  /**
   * Whether the pool has a depth.
   *
   * @return true if so; a depth of 0 is an answer
   */
  public boolean hasAnswer() {
    return answer == PoolAnswer.DEPTH;
  }

  /**
   * The depth.
   *
   * @return blocks, or nothing without an answer
   */
  public OptionalInt depthBlocks() {
    return hasAnswer() ? OptionalInt.of(depth) : OptionalInt.empty();
  }

  /**
   * The depth in tokens.
   *
   * @return depth times the pool's block size, or nothing without an answer
   */
  public OptionalLong depthTokens() {
    return hasAnswer()
        ? OptionalLong.of(depth * Integer.toUnsignedLong(descriptor.querySemantics().kvBlockSize()))
        : OptionalLong.empty();
  }
}
