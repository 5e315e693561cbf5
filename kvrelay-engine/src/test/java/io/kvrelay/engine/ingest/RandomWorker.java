package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A worker whose cache changes at random, and an independent account of what it holds: engine hash
 * to sequence hash. Prompts are shared between workers; evictions take any block, parents too.
 */
final class RandomWorker {
  private static final int MAX_BLOCKS = 200;

  private final Random random;
  private final Member member;
  private final Map<Long, Long> blocks = new HashMap<>();
  private long lastId;
  private long lastEngineHash;

  RandomWorker(Random random, Member member) {
    this.random = random;
    this.member = member;
    this.lastEngineHash = random.nextLong();
  }

  Map<Long, Long> blocks() {
    return blocks;
  }

  long lastId() {
    return lastId;
  }

  /** A new life with an empty cache. */
  void restart() {
    blocks.clear();
    lastId = 0;
  }

  /** Somebody else published its next event, which changed nothing. */
  void skip() {
    lastId++;
  }

  KvEvent[] next(int events) {
    KvEvent[] batch = new KvEvent[events];
    for (int i = 0; i < events; i++) {
      batch[i] = next();
    }
    return batch;
  }

  private KvEvent next() {
    lastId++;
    int kind = random.nextInt(100);
    if (kind < 2) {
      blocks.clear();
      return KvEvent.cleared(member, lastId)
          .domain(random.nextBoolean() ? ResidencyDomain.MISSING : ResidencyDomain.WORKER)
          .build();
    }
    if (kind < 10) {
      return foreignTier();
    }
    return kind < 40 || blocks.size() > MAX_BLOCKS ? removal() : store();
  }

  private KvEvent foreignTier() {
    long[] hash = {random.nextInt(20)};
    return (random.nextBoolean()
            ? KvEvent.stored(member, lastId, hash, hash)
            : KvEvent.removed(member, lastId, hash))
        .tier(StorageTier.HOST_PINNED)
        .build();
  }

  private KvEvent removal() {
    List<Long> all = new ArrayList<>(blocks.keySet());
    all.sort(null);
    long[] gone = new long[Math.min(all.size(), random.nextInt(4))];
    for (int i = 0; i < gone.length; i++) {
      gone[i] = all.get(random.nextInt(all.size()));
      blocks.remove(gone[i]);
    }
    return KvEvent.removed(member, lastId, gone).build();
  }

  private KvEvent store() {
    int length = 1 + random.nextInt(3);
    long[] engine = new long[length];
    long[] local = new long[length];
    Long parent = parent();
    Long previous = parent == null ? null : blocks.get(parent);
    for (int i = 0; i < length; i++) {
      local[i] = random.nextInt(6);
      engine[i] = ++lastEngineHash;
      previous =
          previous == null
              ? SequenceHashes.root(local[i])
              : SequenceHashes.child(previous, local[i]);
      blocks.put(engine[i], previous);
    }
    KvEvent.Builder event = KvEvent.stored(member, lastId, engine, local);
    return (parent == null ? event : event.parent(parent)).build();
  }

  private Long parent() {
    if (blocks.isEmpty() || random.nextInt(4) == 0) {
      return null;
    }
    List<Long> all = new ArrayList<>(blocks.keySet());
    all.sort(null);
    return all.get(random.nextInt(all.size()));
  }
}
