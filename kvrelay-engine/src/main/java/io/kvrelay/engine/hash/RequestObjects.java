package io.kvrelay.engine.hash;

import java.util.Arrays;

/**
 * The multimodal objects of one request, as token ranges of the whole request, and their
 * distribution over its blocks.
 *
 * <p>Each range is intersected with every block's own tokens ({@code [i * B, (i + 1) * B)}, in both
 * hash formats); ranges of one hash that meet in a block belong to one object there. Reusable; not
 * thread safe; allocates nothing once grown.
 */
public final class RequestObjects {
  private static final int INITIAL = 8;

  private int count;
  private long[] mmHash = new long[INITIAL];
  private int[] start = new int[INITIAL];
  private int[] end = new int[INITIAL];

  /** Scratch: where a block's pieces end, then the range indexes of all pieces, by block. */
  private int[] pieceEnd = new int[INITIAL];

  private int[] pieces = new int[INITIAL];

  /** Creates an empty list. */
  public RequestObjects() {}

  /**
   * Forgets all objects.
   *
   * @return this
   */
  public RequestObjects clear() {
    count = 0;
    return this;
  }

  /**
   * Adds one range of one object.
   *
   * @param objectHash the object's hash
   * @param startToken first token of the range
   * @param endToken token after the last one
   * @return this
   * @throws IllegalArgumentException if the range is negative
   */
  public RequestObjects add(long objectHash, int startToken, int endToken) {
    if (startToken < 0 || endToken < startToken) {
      throw new IllegalArgumentException(
          "range = [" + startToken + ", " + endToken + "): must be within the request");
    }
    if (count == mmHash.length) {
      mmHash = Arrays.copyOf(mmHash, count * 2);
      start = Arrays.copyOf(start, count * 2);
      end = Arrays.copyOf(end, count * 2);
    }
    mmHash[count] = objectHash;
    start[count] = startToken;
    end[count] = endToken;
    count++;
    return this;
  }

  /**
   * Whether there is nothing to distribute.
   *
   * @return true without any range
   */
  public boolean isEmpty() {
    return count == 0;
  }

  /**
   * Distributes the objects over a request's blocks. What lies beyond the last block is left out.
   *
   * @param blockSize tokens per block, at least 1
   * @param blockCount number of complete blocks
   * @param out receives {@code blockCount} blocks; inside a block the objects stand in the order
   *     they were first added
   */
  public void toBlocks(int blockSize, int blockCount, BlockObjects out) {
    countPieces(blockSize, blockCount);
    placePieces(blockSize, blockCount);
    out.clear();
    for (int block = 0; block < blockCount; block++) {
      int from = block == 0 ? 0 : pieceEnd[block - 1];
      emit(block, from, pieceEnd[block], blockSize, out);
    }
  }

  private void countPieces(int blockSize, int blockCount) {
    pieceEnd = zeroed(pieceEnd, blockCount);
    for (int i = 0; i < count; i++) {
      int last = lastBlock(i, blockSize, blockCount);
      for (int block = start[i] / blockSize; block <= last; block++) {
        pieceEnd[block]++;
      }
    }
    for (int block = 1; block < blockCount; block++) {
      pieceEnd[block] += pieceEnd[block - 1];
    }
  }

  /** A counting sort that fills each block's pieces backwards, so that their order is kept. */
  private void placePieces(int blockSize, int blockCount) {
    int total = blockCount == 0 ? 0 : pieceEnd[blockCount - 1];
    if (pieces.length < total) {
      pieces = new int[Math.max(total, pieces.length * 2)];
    }
    for (int i = count - 1; i >= 0; i--) {
      int last = lastBlock(i, blockSize, blockCount);
      for (int block = start[i] / blockSize; block <= last; block++) {
        pieces[--pieceEnd[block]] = i;
      }
    }
    // The ends have become starts; shift them back by one block.
    for (int block = 0; block + 1 < blockCount; block++) {
      pieceEnd[block] = pieceEnd[block + 1];
    }
    if (blockCount > 0) {
      pieceEnd[blockCount - 1] = total;
    }
  }

  /** Emits the first piece of each hash together with the later pieces of that hash. */
  private void emit(int block, int from, int to, int blockSize, BlockObjects out) {
    for (int p = from; p < to; p++) {
      int first = pieces[p];
      if (first < 0) {
        continue;
      }
      out.object(mmHash[first]);
      for (int q = p; q < to; q++) {
        int i = pieces[q];
        if (i >= 0 && mmHash[i] == mmHash[first]) {
          int base = block * blockSize;
          out.range(Math.max(start[i] - base, 0), (int) Math.min((long) end[i] - base, blockSize));
          pieces[q] = -1;
        }
      }
    }
    out.endBlock();
  }

  /** Last block that range {@code i} meets; before its first block if it meets none. */
  private int lastBlock(int i, int blockSize, int blockCount) {
    return start[i] == end[i] ? -1 : Math.min((end[i] - 1) / blockSize, blockCount - 1);
  }

  private static int[] zeroed(int[] array, int length) {
    if (array.length < length) {
      return new int[Math.max(length, array.length * 2)];
    }
    Arrays.fill(array, 0, length, 0);
    return array;
  }
}
