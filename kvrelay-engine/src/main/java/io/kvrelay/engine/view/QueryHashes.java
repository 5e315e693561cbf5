package io.kvrelay.engine.view;

import io.kvrelay.api.QuerySemantics;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockObjects;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.RequestObjects;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Turns one request into local hashes, for one pool semantics after the other. Keeps a hasher for
 * each semantics and the salt it used last. Not thread safe; allocates nothing once it has grown.
 */
final class QueryHashes {
  private static final int MAX_HASHERS = 16;
  private static final int NO_HASHES = -1;
  private static final int[] NO_TOKENS = {};
  private static final long[] NO_LOCALS = {};

  private final RequestObjects objects = new RequestObjects();
  private final BlockObjects perBlock = new BlockObjects();
  private final @Nullable QuerySemantics[] semantics = new @Nullable QuerySemantics[MAX_HASHERS];
  private final @Nullable BlockHasher[] hashers = new @Nullable BlockHasher[MAX_HASHERS];
  private int nextHasher;

  private boolean hasTokens;
  private int[] tokens = NO_TOKENS;
  private int tokensFrom;
  private int tokensTo;
  private boolean hasLocals;
  private @Nullable QuerySemantics localSemantics;
  private long[] locals = NO_LOCALS;
  private int localsFrom;
  private int localsTo;
  private @Nullable String cacheNamespace;
  private @Nullable String adapter;

  private @Nullable String saltAdapter;
  private @Nullable String saltNamespace;
  private BlockSalt salt = BlockSalt.NONE;
  private long[] buffer = new long[64];
  private long[] current = NO_LOCALS;
  private int currentFrom;

  void clear() {
    hasTokens = false;
    tokens = NO_TOKENS;
    hasLocals = false;
    locals = NO_LOCALS;
    localSemantics = null;
    cacheNamespace = null;
    adapter = null;
    current = NO_LOCALS;
    objects.clear();
  }

  void tokens(int[] ids, int from, int to) {
    hasTokens = true;
    tokens = ids;
    tokensFrom = from;
    tokensTo = to;
  }

  void localHashes(@Nullable QuerySemantics of, long[] hashes, int from, int to) {
    hasLocals = true;
    localSemantics = of;
    locals = hashes;
    localsFrom = from;
    localsTo = to;
  }

  void object(long hash, int start, int end) {
    objects.add(hash, start, end);
  }

  void cacheNamespace(String name) {
    cacheNamespace = name;
  }

  /** Sets the runtime adapter name, or nothing for a base model. */
  void adapter(@Nullable String name) {
    adapter = name;
  }

  void requirePrompt() {
    if (!hasTokens && !hasLocals) {
      throw new IllegalStateException("tokens: neither tokens nor local hashes are set");
    }
  }

  /**
   * Computes the request's local hashes, or finds those that were given; see {@link #locals}.
   *
   * @return their number, or -1 if the request has none for these semantics
   */
  int compute(QuerySemantics wanted) {
    if (hasLocals && (localSemantics == null || localSemantics.equals(wanted))) {
      current = locals;
      currentFrom = localsFrom;
      return localsTo - localsFrom;
    }
    if (!hasTokens) {
      return NO_HASHES;
    }
    int count = hash(wanted);
    current = buffer;
    currentFrom = 0;
    return count;
  }

  private int hash(QuerySemantics wanted) {
    BlockHasher hasher = hasher(wanted);
    int count = hasher.blockCount(tokensTo - tokensFrom);
    if (buffer.length < count) {
      buffer = new long[Math.max(count, buffer.length * 2)];
    }
    BlockObjects distributed = null;
    if (count > 0 && !objects.isEmpty()) {
      objects.toBlocks(hasher.blockSize(), count, perBlock);
      distributed = perBlock;
    }
    return hasher.localHashes(tokens, tokensFrom, tokensTo, salt(), distributed, buffer, 0);
  }

  /** The array that holds what {@link #compute} has found. */
  long[] locals() {
    return current;
  }

  /** Where in it the first one lies. */
  int from() {
    return currentFrom;
  }

  /** A copy for people, or null if there are none. */
  long @Nullable [] copyOf(QuerySemantics wanted) {
    int count = compute(wanted);
    return count < 0 ? null : Arrays.copyOfRange(current, currentFrom, currentFrom + count);
  }

  private BlockSalt salt() {
    if (!Objects.equals(saltAdapter, adapter) || !Objects.equals(saltNamespace, cacheNamespace)) {
      salt = BlockSalt.of(adapter, cacheNamespace);
      saltAdapter = adapter;
      saltNamespace = cacheNamespace;
    }
    return salt;
  }

  private BlockHasher hasher(QuerySemantics wanted) {
    for (int i = 0; i < MAX_HASHERS; i++) {
      if (wanted.equals(semantics[i])) {
        return Objects.requireNonNull(hashers[i]);
      }
    }
    BlockHasher made = new BlockHasher(wanted);
    semantics[nextHasher] = wanted;
    hashers[nextHasher] = made;
    nextHasher = (nextHasher + 1) % MAX_HASHERS;
    return made;
  }
}
