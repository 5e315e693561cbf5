package io.kvrelay.engine.hash;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a worker does with its engine's store event before it publishes it: refuse repeated engine
 * hashes, cut the tokens into blocks, normalize multimodal placeholders, hash.
 *
 * <p>Set the inputs of one engine event, then call {@link #cut} and {@link #localHashes()}, or
 * {@link #event}. Reusable; not thread safe; {@link #cut} allocates nothing once grown.
 */
public final class EngineBlocks {
  /**
   * Result of {@link #cut}: an engine hash occurs twice, so the store must become a removal of
   * nothing.
   */
  public static final int REPEATED_HASH = -1;

  private static final long[] NO_HASHES = {};

  private final BlockHasher hasher;
  private final PlaceholderTokens placeholders;
  private final DistinctHashes distinct = new DistinctHashes();
  private int[] window = new int[64];
  private long[] locals = new long[64];

  private boolean hasParent;
  private long parentHash;
  private int @Nullable [] declaredSizes;
  private @Nullable BlockObjects objects;
  private BlockSalt salt = BlockSalt.NONE;

  /**
   * Creates a cutter.
   *
   * @param hasher cuts and hashes with the pool's block size and format; used by this object alone
   * @param placeholders the model's placeholder tokens
   */
  public EngineBlocks(BlockHasher hasher, PlaceholderTokens placeholders) {
    this.hasher = hasher;
    this.placeholders = placeholders;
  }

  /**
   * Starts the next engine event: no parent, all blocks of the pool's size, no objects, no salt.
   *
   * @return this
   */
  public EngineBlocks reset() {
    hasParent = false;
    parentHash = 0;
    declaredSizes = null;
    objects = null;
    salt = BlockSalt.NONE;
    return this;
  }

  /**
   * Sets the engine hash that the first block follows.
   *
   * @param engineHash the parent
   * @return this
   */
  public EngineBlocks parent(long engineHash) {
    hasParent = true;
    parentHash = engineHash;
    return this;
  }

  /**
   * Sets the size that the engine declares for each block.
   *
   * @param sizes one unsigned size per engine hash
   * @return this
   */
  public EngineBlocks declaredSizes(int[] sizes) {
    declaredSizes = sizes;
    return this;
  }

  /**
   * Sets the multimodal objects of the blocks.
   *
   * @param blockObjects objects by block; blocks beyond its count have none
   * @return this
   */
  public EngineBlocks objects(BlockObjects blockObjects) {
    objects = blockObjects;
    return this;
  }

  /**
   * Sets the salt.
   *
   * @param blockSalt the salt of the event's adapter and namespace
   * @return this
   */
  public EngineBlocks salt(BlockSalt blockSalt) {
    salt = blockSalt;
    return this;
  }

  /**
   * Cuts and hashes. Blocks end at the first one whose declared size is not the pool's, and at the
   * first one whose window the tokens do not fill.
   *
   * @param engineHashes the engine's block ids
   * @param tokens the tokens of all blocks
   * @param from index of the first token
   * @param to index after the last one
   * @return how many leading blocks may be published, or {@link #REPEATED_HASH}
   * @throws IllegalArgumentException if there are fewer declared sizes than engine hashes
   */
  public int cut(long[] engineHashes, int[] tokens, int from, int to) {
    return cut(engineHashes, engineHashes.length, tokens, from, to);
  }

  /**
   * Cuts and hashes, with the block ids at the beginning of a longer array.
   *
   * @param engineHashes the engine's block ids
   * @param count how many there are
   * @param tokens the tokens of all blocks
   * @param from index of the first token
   * @param to index after the last one
   * @return how many leading blocks may be published, or {@link #REPEATED_HASH}
   * @throws IllegalArgumentException if there are fewer declared sizes than engine hashes
   */
  public int cut(long[] engineHashes, int count, int[] tokens, int from, int to) {
    Objects.checkFromIndexSize(0, count, engineHashes.length);
    Objects.checkFromToIndex(from, to, tokens.length);
    if (!distinct.allDistinct(hasParent, parentHash, engineHashes, count)) {
      return REPEATED_HASH;
    }
    int blocks = Math.min(hasher.blockCount(to - from), blocksOfPoolSize(count));
    if (locals.length < blocks) {
      locals = new long[Math.max(blocks, locals.length * 2)];
    }
    int last = from + blocks * hasher.blockSize() + (int) (blocks == 0 ? 0 : extraTokens());
    hasher.localHashes(tokens, from, last, salt, locals, 0);
    rehashBlocksWithObjects(tokens, from, blocks);
    return blocks;
  }

  /**
   * The local hashes of the last {@link #cut}, from index 0; overwritten by the next one.
   *
   * @return the array
   */
  public long[] localHashes() {
    return locals;
  }

  /**
   * Cuts and hashes, and makes the event to publish: a store of the leading blocks, or a removal of
   * nothing if an engine hash is repeated. Either keeps the stream of event ids contiguous.
   *
   * @param member whose cache
   * @param eventId the engine event's number
   * @param engineHashes the engine's block ids
   * @param tokens the tokens of all blocks
   * @return the event
   */
  public KvEvent event(Member member, long eventId, long[] engineHashes, int[] tokens) {
    int blocks = cut(engineHashes, tokens, 0, tokens.length);
    if (blocks == REPEATED_HASH) {
      return KvEvent.removed(member, eventId, NO_HASHES).build();
    }
    KvEvent.Builder builder =
        KvEvent.stored(
            member, eventId, Arrays.copyOf(engineHashes, blocks), Arrays.copyOf(locals, blocks));
    if (hasParent) {
      builder.parent(parentHash);
    }
    return builder.build();
  }

  private long extraTokens() {
    return hasher.windowTokens() - hasher.blockSize();
  }

  private int blocksOfPoolSize(int blocks) {
    int[] sizes = declaredSizes;
    if (sizes == null) {
      return blocks;
    }
    if (sizes.length < blocks) {
      throw new IllegalArgumentException(
          "declaredSizes.length = " + sizes.length + ": must be at least " + blocks);
    }
    int leading = 0;
    while (leading < blocks && sizes[leading] == hasher.blockSize()) {
      leading++;
    }
    return leading;
  }

  private void rehashBlocksWithObjects(int[] tokens, int from, int blocks) {
    BlockObjects described = objects;
    if (described == null) {
      return;
    }
    for (int block = 0; block < Math.min(blocks, described.blockCount()); block++) {
      int first = described.firstObject(block);
      int end = described.endObject(block);
      if (first < end) {
        int at = from + block * hasher.blockSize();
        locals[block] = hashWithObjects(tokens, at, described.mmHashes(), first, end);
      }
    }
  }

  private long hashWithObjects(int[] tokens, int at, long[] mmHashes, int first, int end) {
    int length = (int) hasher.windowTokens();
    if (window.length < length) {
      window = new int[length];
    }
    System.arraycopy(tokens, at, window, 0, length);
    return placeholders.replace(window, length, mmHashes, first, end)
        ? hasher.localHash(window, 0, salt, NO_HASHES, 0, 0)
        : hasher.localHash(tokens, at, salt, mmHashes, first, end);
  }
}
