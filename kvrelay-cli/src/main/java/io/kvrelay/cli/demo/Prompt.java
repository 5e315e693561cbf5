package io.kvrelay.cli.demo;

import io.kvrelay.engine.hash.SequenceHashes;

/**
 * The hashes of one request at a time, in arrays that are filled again for the next. One thread.
 */
final class Prompt {
  private final long[] locals;
  private final long[] sequence;
  private int length;

  /** An empty prompt with room for {@code maxBlocks}. */
  Prompt(int maxBlocks) {
    this.locals = new long[maxBlocks];
    this.sequence = new long[maxBlocks];
  }

  /** A prompt of these local hashes. */
  static Prompt of(long... locals) {
    Prompt prompt = new Prompt(locals.length);
    System.arraycopy(locals, 0, prompt.locals, 0, locals.length);
    prompt.chain(locals.length);
    return prompt;
  }

  /** Becomes a request of an input. */
  void fill(Workload workload, Request request) {
    workload.localHashes(request, locals);
    chain(workload.blockCount(request));
  }

  private void chain(int blocks) {
    length = blocks;
    SequenceHashes.chain(locals, 0, blocks, sequence, 0);
  }

  /** Cacheable blocks. */
  int length() {
    return length;
  }

  /** Local hashes, valid up to {@link #length()}; do not change them. */
  long[] locals() {
    return locals;
  }

  /** Sequence hashes, valid up to {@link #length()}; do not change them. */
  long[] sequence() {
    return sequence;
  }
}
