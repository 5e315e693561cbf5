package io.kvrelay.engine.ckf;

/** Receives every write of a successful insert or removal, in order. */
public interface BucketWrites {
  /**
   * One bucket was written.
   *
   * @param bucket its index
   * @param before its word before the write
   */
  void written(int bucket, long before);
}
