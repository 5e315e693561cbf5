package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.EngineBlocks;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Turns one source's engine events into relay events, and knows what the source holds.
 *
 * <p>For every block on the device it keeps the engine hash, how often the engine has stored it,
 * and its sequence hash. That settles what the relay must never be bothered with: children of
 * parents that it does not know, removals of one of several copies, hashes that stand for two
 * contents. And it is the rank's complete state, so it can be given out at any time.
 *
 * <p>Not thread safe.
 */
@SuppressWarnings("EnumOrdinal") // the arrays live no longer than the enum
final class Normaliser {
  private static final int MAX_PARTIALS = 65_536;

  private final EngineSource source;
  private final SourceCounters counters;
  private final TrustState trust;
  private final EventAssembler out;
  private final EngineBlocks cutter;
  private final StoreIdentity identity;
  private final boolean eagle;
  private final int blockSize;

  /** Device blocks: engine hash → copies, sequence hash. */
  private final HashTable device = new HashTable(true);

  /** Blocks of the other tiers, by ordinal: engine hash → copies. */
  private final @Nullable HashTable[] lower = new @Nullable HashTable[StorageTier.values().length];

  /** Engine hashes of blocks that are not full; they are no relay blocks. */
  private final HashTable partials = new HashTable(false);

  private final Namespaces namespaces = new Namespaces();
  private final GroupFilter groups = new GroupFilter();
  private @Nullable LineageMemo memo;
  private long largestWindow;
  private long[] canonical = new long[64];
  private long[] completed = new long[64];
  private byte[] payload = {};
  private Refusal lastRefusal = Refusal.NOT_AN_EVENT;

  Normaliser(
      EngineSource source,
      SourceCounters counters,
      TrustState trust,
      EventAssembler out,
      SharedMemory shared) {
    this.source = source;
    this.counters = counters;
    this.trust = trust;
    this.out = out;
    this.cutter = shared.of(source);
    this.identity = new StoreIdentity(source, counters);
    this.eagle = source.semantics().hashFormat() == QueryHashFormat.DYNAMO_EAGLE_V1;
    this.blockSize = source.semantics().kvBlockSize();
  }

  /** Blocks on the device, each counted once. */
  int blocks() {
    return device.size();
  }

  /**
   * Applies a batch's events in order.
   *
   * @return how many were taken in the sense that the engine was understood
   */
  int apply(WireBatch batch) {
    payload = batch.payload();
    int understood = 0;
    for (int i = 0; i < batch.size(); i++) {
      understood += apply(batch.get(i)) ? 1 : 0;
    }
    return understood;
  }

  private boolean apply(WireEvent event) {
    Refusal refusal = event.refusal;
    if (refusal == null) {
      refusal =
          switch (event.kind) {
            case STORED -> stored(event);
            case REMOVED -> removed(event);
            case CLEARED -> cleared();
            case TIER_CLEARED -> tierCleared(event);
            case CREATED -> created(event);
            case UPDATED -> count(Counter.UPDATED_EVENTS);
            case UNKNOWN -> count(Counter.UNKNOWN_TAGS);
          };
    } else if (event.kind != WireEvent.Kind.STORED) {
      lostRemoval(event.kind, refusal);
    }
    if (refusal == null) {
      return true;
    }
    counters.refused(refusal);
    lastRefusal = refusal;
    return false;
  }

  /** Why the newest refused event was refused. */
  Refusal lastRefusal() {
    return lastRefusal;
  }

  private @Nullable Refusal count(Counter counter) {
    counters.increment(counter);
    return null;
  }

  private void lostRemoval(WireEvent.Kind kind, Refusal refusal) {
    if (!trust.has(TrustCause.LOST_REMOVAL)) {
      String what =
          switch (kind) {
            case REMOVED -> "a removal";
            case CLEARED, TIER_CLEARED -> "a clear";
            default -> "an event of unknown kind";
          };
      trust.raise(TrustCause.LOST_REMOVAL, what + " was refused: " + refusal.label());
    }
  }

  private @Nullable Refusal created(WireEvent event) {
    largestWindow = Math.max(largestWindow, event.window);
    return count(Counter.FILTERED_IGNORED);
  }

  /** Whether the event belongs to a window that is not the largest, of those that have windows. */
  private boolean isOtherWindow(WireEvent event) {
    if (event.window >= largestWindow || event.window == 0) {
      largestWindow = Math.max(largestWindow, event.window);
      return false;
    }
    counters.increment(Counter.OTHER_WINDOWS);
    return true;
  }

  // ---- stores

  private @Nullable Refusal stored(WireEvent event) {
    counters.event(WireEvent.Kind.STORED, event.medium);
    StorageTier tier = event.medium.tier();
    if (tier == null) {
      counters.increment(Counter.UNKNOWN_MEDIA);
      return Refusal.UNKNOWN_MEDIUM;
    }
    Counter filtered = groups.ofStore(event);
    if (filtered != null) {
      return count(filtered);
    }
    if (isOtherWindow(event)) {
      return null;
    }
    if (tier != StorageTier.DEVICE && memo == null) {
      memo = new LineageMemo();
    }
    if (event.tokenCount == 0
        && event.hashCount > 0
        && (event.blockSize == 0 || tier != StorageTier.DEVICE)) {
      return tokenless(event, tier);
    }
    return dense(event, tier);
  }

  private @Nullable Refusal dense(WireEvent event, StorageTier tier) {
    cutter.reset();
    if (event.hasParent) {
      cutter.parent(event.parent);
    }
    // With no tokens it only looks for repeated hashes, which come before everything else.
    if (cutter.cut(event.hashes, event.hashCount, event.tokens, 0, 0)
        == EngineBlocks.REPEATED_HASH) {
      counters.increment(Counter.SELF_REFERENCING);
      out.nothing();
      return null;
    }
    if (event.wireTokens() > event.hashCount * event.blockSize) {
      counters.increment(Counter.SPARSE_STORES);
      return Refusal.SPARSE_STORE;
    }
    if (event.hashCount == 0) {
      return count(Counter.EMPTY_STORES);
    }
    if (event.pairs && !eagle) {
      trust.raise(
          TrustCause.HASH_FORMAT,
          "the engine hashes pairs of tokens, the pool has the standard format");
      return Refusal.HASH_FORMAT;
    }
    if (event.blockSize != blockSize) {
      return otherSize(event);
    }
    return hashed(event, tier);
  }

  /** Blocks of another size than the pool's: the last page of a sequence, or a misconfiguration. */
  private @Nullable Refusal otherSize(WireEvent event) {
    counters.increment(Counter.EMPTY_STORES);
    boolean lastPage =
        event.hashCount == 1
            && event.blockSize < blockSize
            && event.wireTokens() == event.blockSize
            && !(event.hasParent && partials.contains(event.parent));
    if (lastPage) {
      rememberPartials(event, 0);
      return null;
    }
    counters.add(Counter.BLOCK_SIZE_MISMATCHES, event.hashCount);
    if (!trust.has(TrustCause.BLOCK_SIZE)) {
      trust.raise(
          TrustCause.BLOCK_SIZE, "blockSize = " + event.blockSize + ": the pool has " + blockSize);
    }
    return Refusal.BLOCK_SIZE;
  }

  private void rememberPartials(WireEvent event, int from) {
    counters.add(Counter.PARTIAL_BLOCKS, event.hashCount - from);
    for (int i = from; i < event.hashCount; i++) {
      if (partials.size() == MAX_PARTIALS) {
        partials.clear();
      }
      if (!partials.contains(event.hashes[i])) {
        partials.insert(event.hashes[i], 0);
      }
    }
  }

  private @Nullable Refusal hashed(WireEvent event, StorageTier tier) {
    if (event.hasParent && !knowsParent(event.parent, tier)) {
      counters.increment(Counter.UNKNOWN_PARENTS);
      counters.add(Counter.UNKNOWN_PARENT_BLOCKS, event.hashCount);
      return null;
    }
    String inherited = event.hasParent ? namespaces.of(event.parent) : "";
    Refusal refusal = identity.read(event, payload, inherited);
    if (refusal == null && !namespaces.admits(identity.ownNamespace())) {
      counters.increment(Counter.SALTS_REFUSED);
      refusal = Refusal.NAMESPACE;
    }
    if (refusal != null) {
      return refusal;
    }
    cutter.salt(identity.salt()).objects(identity.objects());
    int blocks = cutter.cut(event.hashes, event.hashCount, event.tokens, 0, event.tokenCount);
    if (blocks < event.hashCount) {
      counters.increment(Counter.SHORT_TOKEN_LISTS);
      rememberPartials(event, blocks);
    }
    int taken =
        tier == StorageTier.DEVICE
            ? takeDevice(event, blocks)
            : takeLower(event, tier, blocks, identity.ownNamespace());
    if (taken == 0) {
      return count(Counter.EMPTY_STORES);
    }
    out.store(tier, event.hasParent, event.parent, event.hashes, cutter.localHashes(), taken);
    return null;
  }

  private boolean knowsParent(long parent, StorageTier tier) {
    if (device.contains(parent)) {
      return true;
    }
    HashTable table = lower[tier.ordinal()];
    return tier != StorageTier.DEVICE && table != null && table.contains(parent);
  }

  /** Counts the blocks in; returns how many leading ones may be published. */
  private int takeDevice(WireEvent event, int blocks) {
    chain(event, blocks);
    long[] locals = cutter.localHashes();
    String namespace = identity.ownNamespace();
    for (int i = 0; i < blocks; i++) {
      long hash = event.hashes[i];
      int slot = device.find(hash);
      if (slot == HashTable.NONE) {
        if (device.size() == source.maxBlocks()) {
          return withoutRoom(blocks, i);
        }
        device.insert(hash, canonical[i]);
        remember(
            hash,
            locals[i],
            i == 0 ? event.hasParent : true,
            i == 0 ? event.parent : event.hashes[i - 1]);
      } else if (device.word(slot) == canonical[i]) {
        device.retain(slot);
        counters.increment(Counter.REPEATED_BLOCKS);
      } else {
        return conflict(hash, blocks, i);
      }
      if (!namespace.isEmpty()) {
        namespaces.remember(hash, namespace);
      }
    }
    return blocks;
  }

  private void chain(WireEvent event, int blocks) {
    if (canonical.length < blocks) {
      canonical = new long[Math.max(blocks, 2 * canonical.length)];
    }
    long[] locals = cutter.localHashes();
    if (event.hasParent) {
      long parent = device.word(device.find(event.parent));
      SequenceHashes.chainAfter(parent, locals, 0, blocks, canonical, 0);
    } else {
      SequenceHashes.chain(locals, 0, blocks, canonical, 0);
    }
  }

  private void remember(long hash, long local, boolean hasParent, long parent) {
    LineageMemo known = memo;
    if (known != null && !known.remember(hash, local, hasParent, parent)) {
      counters.increment(Counter.MEMO_FULL);
    }
  }

  private int withoutRoom(int blocks, int taken) {
    counters.add(Counter.BLOCKS_WITHOUT_ROOM, blocks - taken);
    if (!trust.has(TrustCause.NO_ROOM)) {
      trust.raise(TrustCause.NO_ROOM, "more blocks than maxBlocks = " + source.maxBlocks());
    }
    return taken;
  }

  private int conflict(long hash, int blocks, int taken) {
    counters.add(Counter.CONFLICTING_BLOCKS, blocks - taken);
    if (!trust.has(TrustCause.CONFLICT)) {
      trust.raise(
          TrustCause.CONFLICT,
          "engine hash " + Long.toUnsignedString(hash) + " stands for two contents");
    }
    return taken;
  }

  private int takeLower(WireEvent event, StorageTier tier, int blocks, String namespace) {
    HashTable table = lowerTable(tier);
    for (int i = 0; i < blocks; i++) {
      int slot = table.find(event.hashes[i]);
      if (slot != HashTable.NONE) {
        table.retain(slot);
        counters.increment(Counter.REPEATED_BLOCKS);
      } else if (table.size() == source.maxBlocks()) {
        return withoutRoom(blocks, i);
      } else {
        table.insert(event.hashes[i], 0);
      }
      if (!namespace.isEmpty()) {
        namespaces.remember(event.hashes[i], namespace);
      }
    }
    return blocks;
  }

  private HashTable lowerTable(StorageTier tier) {
    HashTable table = lower[tier.ordinal()];
    if (table == null) {
      table = new HashTable(false);
      lower[tier.ordinal()] = table;
    }
    return table;
  }

  /** A store that names blocks and no tokens: completed from what the device is known to hold. */
  private @Nullable Refusal tokenless(WireEvent event, StorageTier tier) {
    LineageMemo known = memo;
    int count = 0;
    if (known != null && tier != StorageTier.DEVICE) {
      if (completed.length < event.hashCount) {
        completed = new long[Math.max(event.hashCount, 2 * completed.length)];
      }
      count = known.complete(event.hashes, event.hashCount, completed);
    }
    counters.add(Counter.TOKENLESS_DROPPED, event.hashCount - count);
    if (known == null || count == 0) {
      return null;
    }
    int taken = takeLower(event, tier, count, namespaces.of(event.hashes[0]));
    counters.add(Counter.TOKENLESS_COMPLETED, taken);
    long first = event.hashes[0];
    boolean hasParent = known.hasParent(first);
    out.store(tier, hasParent, hasParent ? known.parent(first) : 0, event.hashes, completed, taken);
    return null;
  }

  /** Whether a lower tier holds a block. */
  private boolean isBelow(long hash) {
    for (HashTable table : lower) {
      if (table != null && table.contains(hash)) {
        return true;
      }
    }
    return false;
  }

  // ---- removals and clears

  private @Nullable Refusal removed(WireEvent event) {
    counters.event(WireEvent.Kind.REMOVED, event.medium);
    StorageTier tier = event.medium.tier();
    if (tier == null) {
      counters.increment(Counter.UNKNOWN_MEDIA);
      return Refusal.UNKNOWN_MEDIUM;
    }
    Counter filtered = groups.ofRemoval(event);
    if (filtered != null) {
      return count(filtered);
    }
    if (isOtherWindow(event)) {
      return null;
    }
    HashTable table = tier == StorageTier.DEVICE ? device : lower[tier.ordinal()];
    for (int i = 0; i < event.hashCount; i++) {
      remove(tier, table, event.hashes[i]);
    }
    return null;
  }

  private void remove(StorageTier tier, @Nullable HashTable table, long hash) {
    int slot = table == null ? HashTable.NONE : table.find(hash);
    if (table == null || slot == HashTable.NONE) {
      removeUnknown(tier, hash);
      return;
    }
    if (!table.release(slot)) {
      counters.increment(Counter.HELD_REMOVALS);
      return;
    }
    if (tier == StorageTier.DEVICE && memo != null) {
      memo.forget(hash);
    }
    if (!namespaces.isEmpty() && !device.contains(hash) && !isBelow(hash)) {
      namespaces.forget(hash);
    }
    out.remove(tier, hash);
  }

  private void removeUnknown(StorageTier tier, long hash) {
    int partial = partials.find(hash);
    if (partial != HashTable.NONE) {
      partials.remove(partial);
      counters.increment(Counter.PARTIAL_REMOVALS);
      return;
    }
    counters.increment(Counter.UNKNOWN_REMOVALS);
    out.remove(tier, hash);
  }

  private @Nullable Refusal cleared() {
    counters.event(WireEvent.Kind.CLEARED, Medium.UNTAGGED);
    clearDevice();
    return null;
  }

  private void clearDevice() {
    counters.increment(Counter.CLEARS);
    dropDevice();
    trust.dropContentCauses();
    out.cleared();
  }

  private void dropDevice() {
    device.clear();
    partials.clear();
    namespaces.keepOnly(this::isBelow);
    if (memo != null) {
      memo.clear();
    }
  }

  /** A clear of a lower tier never becomes a relay's clear, which would empty the device tier. */
  private @Nullable Refusal tierCleared(WireEvent event) {
    counters.event(WireEvent.Kind.CLEARED, event.medium);
    StorageTier tier = event.medium.tier();
    if (tier == null) {
      counters.increment(Counter.UNKNOWN_MEDIA);
      return Refusal.UNKNOWN_MEDIUM;
    }
    if (tier == StorageTier.DEVICE) {
      clearDevice();
      return null;
    }
    HashTable table = lower[tier.ordinal()];
    if (table != null) {
      for (int slot = 0; slot < table.slots(); slot++) {
        if (table.isUsed(slot)) {
          out.remove(tier, table.key(slot));
        }
      }
      table.clear();
    }
    return count(Counter.FILTERED_IGNORED);
  }

  /** Forgets everything and says so: what comes next is another process, or starts anew. */
  void reset() {
    boolean hadBlocks = out.lastId() != 0;
    for (HashTable table : lower) {
      if (table != null) {
        table.clear();
      }
    }
    dropDevice();
    groups.clear();
    memo = null;
    largestWindow = 0;
    if (hadBlocks) {
      counters.increment(Counter.RESETS);
      out.cleared();
    }
  }

  /**
   * The device blocks, each as a root that carries its sequence hash: a root's local hash is its
   * sequence hash, so this leads to the same state as the stores did, in any order, and whether or
   * not parents are still there.
   */
  List<KvEvent> dump() {
    List<KvEvent> events = new ArrayList<>(device.size());
    for (int slot = 0; slot < device.slots(); slot++) {
      if (device.isUsed(slot)) {
        long[] engine = {device.key(slot)};
        long[] names = {device.word(slot)};
        events.add(KvEvent.stored(source.member(), events.size(), engine, names).build());
      }
    }
    return events;
  }
}
