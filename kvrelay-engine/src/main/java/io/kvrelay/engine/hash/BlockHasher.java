package io.kvrelay.engine.hash;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Cuts tokens into blocks and hashes them, for one block size and hash format.
 *
 * <p>Reusable and not thread safe: it owns the bytes that tokens are staged in. Tokens are staged
 * some thousand at a time and hashed in place, so that the copy stays in the first-level cache. In
 * steady state only the methods that return an array allocate.
 *
 * <p>Token ids are unsigned 32-bit values in {@code int}s. A trailing partial block is ignored.
 * Block {@code i} is hashed over the window of {@code blockSize} tokens from {@code i * blockSize},
 * one token more in the Eagle format; it exists if its whole window does.
 */
public final class BlockHasher {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int STAGED_TOKENS = 4096;
  private static final int MAX_STAGED_BYTES = Integer.MAX_VALUE - 64;
  private static final int SORT_IN_PLACE = 32;

  private final int blockSize;
  private final QueryHashFormat format;
  private final Xxh3Scratch scratch = new Xxh3Scratch();
  private byte[] bytes = {};
  private IntBuffer ints = IntBuffer.allocate(0);
  private long[] sorted = new long[8];

  /**
   * Creates a hasher.
   *
   * @param semantics a pool's semantics
   */
  public BlockHasher(QuerySemantics semantics) {
    this(semantics.kvBlockSize(), semantics.hashFormat());
  }

  /**
   * Creates a hasher.
   *
   * @param blockSize tokens per block, unsigned; no token list has a block of size 0
   * @param format the hash format
   */
  public BlockHasher(int blockSize, QueryHashFormat format) {
    this.blockSize = blockSize;
    this.format = format;
  }

  /**
   * How many blocks a token list has.
   *
   * @param tokens number of tokens
   * @param blockSize tokens per block, unsigned
   * @param format the hash format
   * @return the number of blocks; 0 for block size 0
   */
  public static int blockCount(int tokens, int blockSize, QueryHashFormat format) {
    int usable = tokens - (format == QueryHashFormat.DYNAMO_EAGLE_V1 ? 1 : 0);
    // A negative block size is one of at least 2^31 tokens, more than any list has.
    return usable <= 0 || blockSize <= 0 ? 0 : usable / blockSize;
  }

  /**
   * How many blocks a token list has.
   *
   * @param tokens number of tokens
   * @return the number of blocks
   */
  public int blockCount(int tokens) {
    return blockCount(tokens, blockSize, format);
  }

  /**
   * Tokens per block.
   *
   * @return the unsigned block size
   */
  public int blockSize() {
    return blockSize;
  }

  /**
   * Tokens that a block's hash covers.
   *
   * @return the block size, one more in the Eagle format
   */
  public long windowTokens() {
    return Integer.toUnsignedLong(blockSize) + (format == QueryHashFormat.DYNAMO_EAGLE_V1 ? 1 : 0);
  }

  /**
   * Hashes the blocks of a text request.
   *
   * @param tokens the tokens
   * @param from index of the first token
   * @param to index after the last one
   * @param salt the request's salt
   * @param out receives the local hashes
   * @param outFrom where the first one goes
   * @return the number of blocks
   * @throws IndexOutOfBoundsException if a range leaves its array
   */
  public int localHashes(int[] tokens, int from, int to, BlockSalt salt, long[] out, int outFrom) {
    Objects.checkFromToIndex(from, to, tokens.length);
    int blocks = blockCount(to - from);
    Objects.checkFromIndexSize(outFrom, blocks, out.length);
    int batch = 0;
    for (int block = 0; block < blocks; block += batch) {
      batch = Math.min(blocks - block, Math.max(1, STAGED_TOKENS / blockSize));
      hashBatch(tokens, from + block * blockSize, batch, salt, out, outFrom + block);
    }
    return blocks;
  }

  private void hashBatch(
      int[] tokens, int from, int batch, BlockSalt salt, long[] out, int outFrom) {
    int window = window();
    stage(tokens, from, (batch - 1) * blockSize + window, 0);
    Xxh3 hash = salt.hash();
    byte[] in = bytes;
    for (int i = 0, at = 0; i < batch; i++, at += blockSize * Integer.BYTES) {
      out[outFrom + i] = hash.hash(in, at, window * Integer.BYTES, scratch);
    }
  }

  /**
   * Hashes the blocks of a request with multimodal objects.
   *
   * @param tokens the tokens
   * @param from index of the first token
   * @param to index after the last one
   * @param salt the request's salt
   * @param objects the blocks' objects; blocks beyond its count have none. Null: a text request
   * @param out receives the local hashes
   * @param outFrom where the first one goes
   * @return the number of blocks
   * @throws IndexOutOfBoundsException if a range leaves its array
   */
  public int localHashes(
      int[] tokens,
      int from,
      int to,
      BlockSalt salt,
      @Nullable BlockObjects objects,
      long[] out,
      int outFrom) {
    int blocks = localHashes(tokens, from, to, salt, out, outFrom);
    if (objects != null) {
      addObjects(tokens, from, Math.min(blocks, objects.blockCount()), salt, objects, out, outFrom);
    }
    return blocks;
  }

  /** Hashes those blocks again that have objects. */
  private void addObjects(
      int[] tokens,
      int from,
      int blocks,
      BlockSalt salt,
      BlockObjects objects,
      long[] out,
      int outFrom) {
    for (int block = 0; block < blocks; block++) {
      int first = objects.firstObject(block);
      int end = objects.endObject(block);
      if (first < end) {
        out[outFrom + block] =
            localHash(tokens, from + block * blockSize, salt, objects.mmHashes(), first, end);
      }
    }
  }

  /**
   * Hashes one block.
   *
   * @param tokens the tokens
   * @param from index of the block's first token; the whole window must follow
   * @param salt the salt
   * @param objectHashes hashes of the block's objects; order does not matter, duplicates do
   * @param objectsFrom index of the first one
   * @param objectsTo index after the last one
   * @return the local hash
   * @throws IndexOutOfBoundsException if a range leaves its array
   */
  public long localHash(
      int[] tokens, int from, BlockSalt salt, long[] objectHashes, int objectsFrom, int objectsTo) {
    Objects.checkFromToIndex(objectsFrom, objectsTo, objectHashes.length);
    int window = window();
    Objects.checkFromIndexSize(from, window, tokens.length);
    int count = objectsTo - objectsFrom;
    stage(tokens, from, window, count);
    appendAscending(objectHashes, objectsFrom, count, window * Integer.BYTES);
    return salt.hash().hash(bytes, 0, window * Integer.BYTES + count * Long.BYTES, scratch);
  }

  private void appendAscending(long[] hashes, int from, int count, int at) {
    if (count == 0) {
      return;
    }
    if (sorted.length < count) {
      sorted = new long[Math.max(count, sorted.length * 2)];
    }
    // Flipping the sign bit makes the signed order the unsigned one.
    for (int i = 0; i < count; i++) {
      sorted[i] = hashes[from + i] ^ Long.MIN_VALUE;
    }
    sortSmall(sorted, count);
    for (int i = 0; i < count; i++) {
      LONGS.set(bytes, at + i * Long.BYTES, sorted[i] ^ Long.MIN_VALUE);
    }
  }

  /** Blocks have few objects; the JDK's sort would do, but may allocate for long inputs. */
  private static void sortSmall(long[] values, int count) {
    if (count > SORT_IN_PLACE) {
      Arrays.sort(values, 0, count);
      return;
    }
    for (int i = 1; i < count; i++) {
      long value = values[i];
      int j = i - 1;
      for (; j >= 0 && values[j] > value; j--) {
        values[j + 1] = values[j];
      }
      values[j + 1] = value;
    }
  }

  /**
   * Hashes a text request down to its sequence hashes.
   *
   * @param tokens the tokens
   * @param from index of the first token
   * @param to index after the last one
   * @param salt the request's salt
   * @param out receives the sequence hashes
   * @param outFrom where the first one goes
   * @return the number of blocks
   */
  public int sequenceHashes(
      int[] tokens, int from, int to, BlockSalt salt, long[] out, int outFrom) {
    return sequenceHashes(tokens, from, to, salt, null, out, outFrom);
  }

  /**
   * Hashes a request down to its sequence hashes.
   *
   * @param tokens the tokens
   * @param from index of the first token
   * @param to index after the last one
   * @param salt the request's salt
   * @param objects the blocks' multimodal objects, or null
   * @param out receives the sequence hashes
   * @param outFrom where the first one goes
   * @return the number of blocks
   */
  public int sequenceHashes(
      int[] tokens,
      int from,
      int to,
      BlockSalt salt,
      @Nullable BlockObjects objects,
      long[] out,
      int outFrom) {
    int blocks = localHashes(tokens, from, to, salt, objects, out, outFrom);
    SequenceHashes.chain(out, outFrom, outFrom + blocks, out, outFrom);
    return blocks;
  }

  /**
   * Hashes a whole text request down to its sequence hashes.
   *
   * @param tokens the tokens
   * @param salt the request's salt
   * @return one sequence hash per block, in a new array
   */
  public long[] sequenceHashes(int[] tokens, BlockSalt salt) {
    long[] out = new long[blockCount(tokens.length)];
    sequenceHashes(tokens, 0, tokens.length, salt, out, 0);
    return out;
  }

  /**
   * Hashes a whole request with multimodal objects down to its sequence hashes.
   *
   * @param tokens the tokens
   * @param salt the request's salt
   * @param objects the request's objects
   * @return one sequence hash per block, in a new array
   */
  public long[] sequenceHashes(int[] tokens, BlockSalt salt, RequestObjects objects) {
    long[] out = new long[blockCount(tokens.length)];
    BlockObjects perBlock = new BlockObjects();
    if (out.length > 0) {
      objects.toBlocks(blockSize, out.length, perBlock);
    }
    sequenceHashes(tokens, 0, tokens.length, salt, perBlock, out, 0);
    return out;
  }

  private int window() {
    return (int) Math.min(windowTokens(), Integer.MAX_VALUE);
  }

  /**
   * Copies tokens to the start of the staging bytes and leaves room for object hashes after them.
   */
  private void stage(int[] tokens, int from, int count, int objects) {
    long needed = (long) count * Integer.BYTES + (long) objects * Long.BYTES;
    if (bytes.length < needed) {
      grow(needed);
    }
    ints.put(0, tokens, from, count);
  }

  private void grow(long needed) {
    if (needed > MAX_STAGED_BYTES) {
      throw new IllegalArgumentException(
          "blockSize = "
              + Integer.toUnsignedString(blockSize)
              + ": one block's hash input has "
              + needed
              + " bytes, more than "
              + MAX_STAGED_BYTES);
    }
    int atLeast = (STAGED_TOKENS + 1) * Integer.BYTES;
    bytes = new byte[(int) Math.max(needed, atLeast)];
    ints = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
  }
}
