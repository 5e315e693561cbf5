package io.kvrelay.engine.cbi1;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.PublicationFrame;

/**
 * Puts a filter together from its snapshot chunks: in order, contiguous, of one sequence, covering
 * every bucket.
 *
 * <p>Reusable and not thread safe. The words go straight into one array of the filter's size. No
 * step clears it: a snapshot is complete only when every bucket has been written. Until then the
 * array is this object's alone and must not be shown to a query. In steady state an assembly
 * allocates only an array that replaces a taken one.
 *
 * <p>Seeds and data centers are not compared here: the decoder and the consumer have done so.
 */
public final class SnapshotAssembly {
  /** What a frame did to the assembly. */
  public enum Result {
    /** Accepted; more chunks must follow. */
    INCOMPLETE,
    /** Accepted; the snapshot is complete. */
    COMPLETE,
    /**
     * Refused: a delta, which changes nothing, or a chunk that does not continue the assembly,
     * which drops it. {@link Cbi1Error#CHUNK_SEQUENCE}.
     */
    CHUNK_SEQUENCE,
    /**
     * Refused: the last chunk left buckets uncovered; drops the assembly. {@link
     * Cbi1Error#INCOMPLETE_COVERAGE}.
     */
    INCOMPLETE_COVERAGE
  }

  private static final long[] NONE = {};

  private final int bucketCount;
  private long[] words = NONE;
  private boolean complete;
  private long epoch;
  private int chunkCount;
  private int nextChunk;
  private int nextBucket;

  /**
   * Creates an empty assembly.
   *
   * @param format the filter's format
   */
  public SnapshotAssembly(CkfFormat format) {
    this.bucketCount = format.bucketCount();
  }

  /**
   * Takes the next frame.
   *
   * @param frame a decoder that shows a good frame
   * @return what it did
   */
  public Result absorb(Cbi1Decoder frame) {
    if (frame.kind() == PublicationFrame.Kind.DELTA) {
      return Result.CHUNK_SEQUENCE;
    }
    // The decoder has refused an index beyond the count.
    int index = frame.chunkIndex();
    if (index == 0) {
      reset();
      epoch = frame.epoch();
      chunkCount = frame.chunkCount();
    }
    if (!continues(frame, index)) {
      reset();
      return Result.CHUNK_SEQUENCE;
    }
    if (words.length == 0) {
      words = new long[bucketCount];
    }
    frame.copyWords(words, nextBucket);
    nextChunk++;
    nextBucket += frame.wordCount();
    return nextChunk == chunkCount ? finish() : Result.INCOMPLETE;
  }

  private boolean continues(Cbi1Decoder frame, int index) {
    return index == nextChunk
        && frame.chunkCount() == chunkCount
        && frame.epoch() == epoch
        && frame.bucketCount() == bucketCount
        && frame.bucketOffset() == nextBucket;
  }

  private Result finish() {
    long assembled = epoch;
    boolean covered = nextBucket == bucketCount;
    reset();
    if (!covered) {
      return Result.INCOMPLETE_COVERAGE;
    }
    epoch = assembled;
    complete = true;
    return Result.COMPLETE;
  }

  /** Drops whatever has been assembled; keeps the memory. */
  public void reset() {
    complete = false;
    epoch = 0;
    chunkCount = 0;
    nextChunk = 0;
    nextBucket = 0;
  }

  /**
   * The sequence of a complete snapshot.
   *
   * @return the unsigned sequence
   * @throws IllegalStateException unless the last frame made the snapshot complete
   */
  public long epoch() {
    requireComplete();
    return epoch;
  }

  /**
   * The words of a complete snapshot, one per bucket; overwritten by the next snapshot.
   *
   * @return this object's array
   * @throws IllegalStateException unless the last frame made the snapshot complete
   */
  public long[] words() {
    requireComplete();
    return words;
  }

  /**
   * Hands over the words of a complete snapshot. The next snapshot gets an array of its own.
   *
   * @return the array, the caller's from now on
   * @throws IllegalStateException unless the last frame made the snapshot complete
   */
  public long[] takeWords() {
    requireComplete();
    long[] taken = words;
    words = NONE;
    reset();
    return taken;
  }

  private void requireComplete() {
    if (!complete) {
      throw new IllegalStateException("the snapshot is not complete");
    }
  }
}
