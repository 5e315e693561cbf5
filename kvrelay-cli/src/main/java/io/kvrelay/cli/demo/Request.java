package io.kvrelay.cli.demo;

/**
 * One request of an input.
 *
 * @param timestampMillis when it arrives, on the input's own clock
 * @param ids its cacheable 512-token blocks, first to last; equal ids after equal prefixes are
 *     equal blocks; not copied
 */
@SuppressWarnings("ArrayRecordComponent") // read, never compared
record Request(long timestampMillis, long[] ids) {
  /** Tokens behind one id. */
  static final int TOKENS_PER_ID = 512;
}
