package io.kvrelay.engine.hash;

import java.util.Arrays;
import java.util.Objects;

/**
 * The multimodal objects of consecutive blocks: for every block a list of object hashes, and for
 * every object the token ranges it takes inside the block.
 *
 * <p>A reusable, growing structure of arrays; not thread safe. Fill it block by block: any number
 * of {@link #object}, each followed by any number of {@link #range}, then {@link #endBlock}.
 * Filling allocates nothing once it has grown.
 */
public final class BlockObjects {
  private int blocks;
  private int[] objectEnd = new int[16];
  private int objects;
  private long[] mmHash = new long[16];
  private int[] rangeEnd = new int[16];
  private int ranges;
  private int[] bounds = new int[32];

  /** Creates an empty list. */
  public BlockObjects() {}

  /**
   * Forgets all blocks.
   *
   * @return this
   */
  public BlockObjects clear() {
    blocks = 0;
    objects = 0;
    ranges = 0;
    return this;
  }

  /**
   * Adds an object to the block being filled.
   *
   * @param mmHash its hash
   * @return this
   */
  public BlockObjects object(long mmHash) {
    if (objects == this.mmHash.length) {
      this.mmHash = Arrays.copyOf(this.mmHash, objects * 2);
      this.rangeEnd = Arrays.copyOf(this.rangeEnd, objects * 2);
    }
    this.mmHash[objects] = mmHash;
    this.rangeEnd[objects++] = ranges;
    return this;
  }

  /**
   * Adds a token range to the object added last.
   *
   * @param start first token, relative to the block
   * @param end token after the last one
   * @return this
   * @throws IllegalStateException if the block being filled has no object yet
   */
  public BlockObjects range(int start, int end) {
    if (objects == firstObject(blocks)) {
      throw new IllegalStateException(
          "range = [" + start + ", " + end + "): needs an object first");
    }
    if (2 * ranges == bounds.length) {
      bounds = Arrays.copyOf(bounds, ranges * 4);
    }
    bounds[2 * ranges] = start;
    bounds[2 * ranges + 1] = end;
    rangeEnd[objects - 1] = ++ranges;
    return this;
  }

  /**
   * Completes the block being filled.
   *
   * @return this
   */
  public BlockObjects endBlock() {
    if (blocks == objectEnd.length) {
      objectEnd = Arrays.copyOf(objectEnd, blocks * 2);
    }
    objectEnd[blocks++] = objects;
    return this;
  }

  /**
   * Completed blocks.
   *
   * @return their number
   */
  public int blockCount() {
    return blocks;
  }

  /**
   * Objects of one block.
   *
   * @param block 0..{@link #blockCount()}-1
   * @return their number
   */
  public int objectCount(int block) {
    Objects.checkIndex(block, blocks);
    return objectEnd[block] - firstObject(block);
  }

  /**
   * Hash of one object.
   *
   * @param block the block
   * @param object 0..{@link #objectCount}-1
   * @return the hash
   */
  public long mmHash(int block, int object) {
    return mmHash[index(block, object)];
  }

  /**
   * Token ranges of one object.
   *
   * @param block the block
   * @param object the object
   * @return their number
   */
  public int rangeCount(int block, int object) {
    int index = index(block, object);
    return rangeEnd[index] - firstRange(index);
  }

  /**
   * Start of one range.
   *
   * @param block the block
   * @param object the object
   * @param range 0..{@link #rangeCount}-1
   * @return first token, relative to the block
   */
  public int rangeStart(int block, int object, int range) {
    return bounds[2 * rangeIndex(block, object, range)];
  }

  /**
   * End of one range.
   *
   * @param block the block
   * @param object the object
   * @param range 0..{@link #rangeCount}-1
   * @return token after the last one, relative to the block
   */
  public int rangeEnd(int block, int object, int range) {
    return bounds[2 * rangeIndex(block, object, range) + 1];
  }

  /** All hashes; those of a block lie from {@link #firstObject} to {@link #endObject}. */
  long[] mmHashes() {
    return mmHash;
  }

  int firstObject(int block) {
    return block == 0 ? 0 : objectEnd[block - 1];
  }

  int endObject(int block) {
    return objectEnd[block];
  }

  private int index(int block, int object) {
    return firstObject(block) + Objects.checkIndex(object, objectCount(block));
  }

  private int firstRange(int index) {
    return index == 0 ? 0 : rangeEnd[index - 1];
  }

  private int rangeIndex(int block, int object, int range) {
    return firstRange(index(block, object)) + Objects.checkIndex(range, rangeCount(block, object));
  }
}
