package io.kvrelay.cli.demo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.SplitMix64;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * One inference engine: a bounded cache, and the events that it emits about it. Its block ids are
 * its own: no other worker has the same id for the same block, as little as real engines do. One
 * thread.
 */
final class EngineWorker {
  private final Member member;
  private final LruBlockCache cache;
  private final long hashSeed;
  private final LongConsumer gone;
  private final LongIntMap owners;
  private final LoadWindow load = new LoadWindow();
  private long[] evicted = new long[64];
  private int evictions;
  private long nextEventId;

  /**
   * Creates a worker with an empty cache.
   *
   * @param member who it is in its events
   * @param cacheBlocks capacity of its cache
   * @param hashSeed seed of its block ids
   * @param owners where it counts what it holds, shared with the other workers of its data center
   */
  EngineWorker(Member member, int cacheBlocks, long hashSeed, LongIntMap owners) {
    this.member = member;
    this.cache = new LruBlockCache(cacheBlocks);
    this.hashSeed = hashSeed;
    this.owners = owners;
    this.gone = this::forget;
  }

  private void forget(long hash) {
    owners.decrement(hash);
    if (evictions == evicted.length) {
      evicted = Arrays.copyOf(evicted, evictions * 2);
    }
    evicted[evictions++] = engineHash(hash);
  }

  /** Number of leading blocks that its cache would serve. */
  int match(Prompt prompt) {
    return cache.match(prompt.sequence(), prompt.length());
  }

  LoadWindow load() {
    return load;
  }

  /**
   * Runs a request: serves the longest cached prefix, computes the rest and keeps it. A request
   * longer than the cache keeps what fits of its beginning.
   *
   * @param nowMillis the time
   * @param prompt the request
   * @param events receives the events, in order
   * @return blocks served from the cache
   */
  int execute(long nowMillis, Prompt prompt, Consumer<KvEvent> events) {
    int kept = Math.min(prompt.length(), cache.capacity());
    int served = cache.match(prompt.sequence(), kept);
    load.add(nowMillis, prompt.length() - served);
    evictions = 0;
    cache.use(prompt.sequence(), kept, served, gone);
    if (evictions > 0) {
      long[] removed = Arrays.copyOf(evicted, evictions);
      events.accept(KvEvent.removed(member, nextEventId++, removed).build());
    }
    if (kept > served) {
      events.accept(stored(prompt, served, kept));
    }
    return served;
  }

  private KvEvent stored(Prompt prompt, int from, int to) {
    long[] sequence = prompt.sequence();
    long[] engineHashes = new long[to - from];
    for (int i = from; i < to; i++) {
      owners.increment(sequence[i]);
      engineHashes[i - from] = engineHash(sequence[i]);
    }
    KvEvent.Builder event =
        KvEvent.stored(
            member, nextEventId++, engineHashes, Arrays.copyOfRange(prompt.locals(), from, to));
    if (from > 0) {
      event.parent(engineHash(sequence[from - 1]));
    } else {
      event.startPosition(0);
    }
    return event.build();
  }

  /** Empties the cache, as an engine does when its weights are replaced. */
  void clear(Consumer<KvEvent> events) {
    evictions = 0;
    cache.clear(gone);
    events.accept(KvEvent.cleared(member, nextEventId++).build());
  }

  /** Starts again with an empty cache, without a word about what it held. */
  void restart() {
    evictions = 0;
    cache.clear(gone);
  }

  /** A bijection, so two blocks of one worker never share an id. */
  private long engineHash(long sequenceHash) {
    return SplitMix64.mix(sequenceHash ^ hashSeed);
  }
}
