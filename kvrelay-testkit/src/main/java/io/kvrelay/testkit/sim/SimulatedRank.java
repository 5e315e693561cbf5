package io.kvrelay.testkit.sim;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.hash.SequenceHashes;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One data-parallel rank of a simulated worker: a bounded prefix cache that evicts what was used
 * least recently, and publishes what it does as an engine would. A request's blocks that are cached
 * are used again, the others are stored.
 *
 * <p>Engine hashes are this life's own: the same content has another one on every rank. Thread
 * safe.
 */
public final class SimulatedRank {
  private final int capacity;
  private final long salt;
  // Guarded by this. The least recently used block first; a parent never before its children.
  private final LinkedHashMap<Long, Long> cache = new LinkedHashMap<>();
  private final InMemoryEventSource.Rank publisher;

  SimulatedRank(InMemoryEventSource.Rank publisher, int capacity, long salt) {
    this.publisher = publisher;
    this.capacity = capacity;
    this.salt = salt;
  }

  /**
   * Which rank of which worker it is.
   *
   * @return the member
   */
  public Member member() {
    return publisher.member();
  }

  /**
   * What sends its events, to break it by hand.
   *
   * @return this life's publisher
   */
  public InMemoryEventSource.Rank publisher() {
    return publisher;
  }

  /**
   * The name under which it publishes.
   *
   * @return this life's publisher id
   */
  public long publisherId() {
    return publisher.advertisement().publisherId();
  }

  /**
   * How many blocks fit.
   *
   * @return at least 1
   */
  public int capacity() {
    return capacity;
  }

  /**
   * Serves a request: afterwards the cache holds its blocks, as many of the first ones as fit.
   *
   * @param localHashes of its blocks, see {@link io.kvrelay.engine.hash.BlockHasher}
   * @return how many of its first blocks were cached before
   */
  public synchronized int serve(long... localHashes) {
    int length = Math.min(localHashes.length, capacity);
    long[] sequence = Arrays.copyOf(SequenceHashes.chain(localHashes), length);
    int hits = 0;
    while (hits < length && cache.containsKey(sequence[hits])) {
      hits++;
    }
    use(sequence);
    if (hits < length) {
      publish(take(cache.size() - capacity), localHashes, sequence, hits);
    }
    return hits;
  }

  /** The whole request becomes the latest use, its root last. */
  private void use(long[] sequence) {
    for (int i = sequence.length - 1; i >= 0; i--) {
      cache.remove(sequence[i]);
      cache.put(sequence[i], engineHash(sequence[i]));
    }
  }

  private long engineHash(long sequenceHash) {
    long x = (sequenceHash ^ salt) * 0x9E3779B97F4A7C15L;
    return x ^ (x >>> 32);
  }

  private List<Long> take(int blocks) {
    List<Long> gone = new ArrayList<>();
    Iterator<Map.Entry<Long, Long>> eldest = cache.entrySet().iterator();
    while (gone.size() < blocks && eldest.hasNext()) {
      gone.add(eldest.next().getValue());
      eldest.remove();
    }
    return gone;
  }

  private void publish(List<Long> removed, long[] localHashes, long[] sequence, int from) {
    long id = publisher.nextEventId();
    if (removed.isEmpty()) {
      publisher.publish(stored(id, localHashes, sequence, from));
    } else {
      publisher.publish(removal(id, removed), stored(id + 1, localHashes, sequence, from));
    }
  }

  private KvEvent stored(long id, long[] localHashes, long[] sequence, int from) {
    long[] engine = new long[sequence.length - from];
    for (int i = 0; i < engine.length; i++) {
      engine[i] = engineHash(sequence[from + i]);
    }
    long[] local = Arrays.copyOfRange(localHashes, from, sequence.length);
    KvEvent.Builder event = KvEvent.stored(member(), id, engine, local);
    return (from == 0 ? event : event.parent(engineHash(sequence[from - 1]))).build();
  }

  private KvEvent removal(long id, List<Long> engineHashes) {
    long[] hashes = engineHashes.stream().mapToLong(Long::longValue).toArray();
    return KvEvent.removed(member(), id, hashes).build();
  }

  /**
   * Evicts the blocks that were used least recently.
   *
   * @param blocks how many, at most
   * @return how many there were
   */
  public synchronized int evict(int blocks) {
    List<Long> gone = take(blocks);
    if (!gone.isEmpty()) {
      publisher.remove(gone.stream().mapToLong(Long::longValue).toArray());
    }
    return gone.size();
  }

  /** Empties the cache, and says so. */
  public synchronized void clear() {
    cache.clear();
    publisher.clear();
  }

  /**
   * How many leading blocks of a request are cached.
   *
   * @param localHashes of its blocks
   * @return the depth
   */
  public synchronized int depth(long... localHashes) {
    long[] sequence = SequenceHashes.chain(localHashes);
    int depth = 0;
    while (depth < sequence.length && cache.containsKey(sequence[depth])) {
      depth++;
    }
    return depth;
  }

  /**
   * What it holds.
   *
   * @return sequence hash by engine hash; a copy
   */
  public synchronized Map<Long, Long> blocks() {
    Map<Long, Long> blocks = new LinkedHashMap<>();
    cache.forEach((sequence, engine) -> blocks.put(engine, sequence));
    return blocks;
  }
}
