package io.kvrelay.api;

/**
 * The atomic token-to-sequence-hash pipeline of one pool. Hashes are computed per pool with the
 * pool's own semantics.
 *
 * @param kvBlockSize tokens of one block (unsigned 32 bits), not zero
 * @param hashFormat the pipeline
 */
public record QuerySemantics(int kvBlockSize, QueryHashFormat hashFormat) {
  /**
   * Checks the block size.
   *
   * @param kvBlockSize tokens of one block (unsigned 32 bits), not zero
   * @param hashFormat the pipeline
   * @throws IllegalArgumentException if it is zero
   */
  public QuerySemantics {
    Check.that(kvBlockSize != 0, "kvBlockSize", kvBlockSize, "must not be zero");
  }
}
