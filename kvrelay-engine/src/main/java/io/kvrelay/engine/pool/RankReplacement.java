package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The content of one rank as a dump of its cache tells it, built beside the pool and installed by
 * {@link PoolState#replaceRanks}.
 *
 * <p>Events are pushed in replay order: a store follows its parent's. A removal takes a block out
 * again; one that names an unmapped engine hash is only counted. What does not concern the index of
 * device memory is ignored and counted. A clear is refused. A push that fails leaves what was
 * pushed before as it was.
 *
 * <p>Once handed over to be installed, it takes no more events.
 *
 * <p>One thread at a time; may be built on another thread than the pool's. Never blocks.
 */
public final class RankReplacement {
  private static final int FIRST_CAPACITY = 64;
  private static final long COUNT_MASK = 0xFFFF_FFFFL;

  private final Memory memory;
  private final Member member;
  private final LineageMap lineage;

  // Mixed sequence hash -> place in the order << 32 | number of mappings. Present while it has a
  // mapping.
  private final LineageMap places;

  // Candidates in replay order. One whose block was removed since has another place, or none, in
  // `places`.
  private long[] order = new long[FIRST_CAPACITY];
  private int orderSize;

  private final Scratch scratch;
  private final EnumMap<IgnoreReason, Long> ignored = new EnumMap<>(IgnoreReason.class);
  private long unknownRemovals;
  private long cost;
  private boolean handedOver;
  private boolean consumed;

  /**
   * Starts an empty replacement.
   *
   * @param member the rank it is for
   */
  public RankReplacement(Member member) {
    this(member, Memory.HEAP);
  }

  RankReplacement(Member member, Memory memory) {
    this.memory = memory;
    this.member = member;
    this.lineage = new LineageMap(memory);
    this.places = new LineageMap(memory);
    this.scratch = new Scratch(memory);
  }

  /**
   * The rank it is for.
   *
   * @return the member
   */
  public Member member() {
    return member;
  }

  /**
   * Number of mappings so far.
   *
   * @return the number
   */
  public int mappingCount() {
    return lineage.size();
  }

  /**
   * Removals so far of engine hashes that were not mapped.
   *
   * @return the number
   */
  public long unknownRemovals() {
    return unknownRemovals;
  }

  /**
   * Events so far that do not concern the index of device memory.
   *
   * @param reason why not
   * @return the number
   */
  public long ignored(IgnoreReason reason) {
    return ignored.getOrDefault(reason, 0L);
  }

  /**
   * What the replacement costs at the pool's admission: blocks and hashes of all pushed events, at
   * least one an event.
   *
   * @return the cost
   */
  public long cost() {
    return cost;
  }

  /**
   * Adds one event of the dump.
   *
   * @param event an event of this replacement's member
   * @return null, or why it was refused; then nothing has changed
   * @throws IllegalArgumentException if the event is another member's
   * @throws IllegalStateException if the replacement has been handed over
   */
  public @Nullable KvEventErrorKind push(KvEvent event) {
    if (handedOver) {
      throw handedOverAlready();
    }
    if (!event.member().equals(member)) {
      throw new IllegalArgumentException(
          "event.member = " + event.member() + ": the replacement is for " + member);
    }
    ResidencyDomain domain = event.domain();
    boolean clear = event.kind() == KvEvent.Kind.CLEARED;
    boolean device = event.tier() == StorageTier.DEVICE;
    if (domain.isUnsupported() || (domain == ResidencyDomain.CACHE_OWNER && device && !clear)) {
      return KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN;
    }
    KvEventErrorKind error = null;
    if (domain == ResidencyDomain.CACHE_OWNER) {
      ignored.merge(IgnoreReason.CACHE_OWNER_DOMAIN, 1L, Long::sum);
    } else if (!device && !clear) {
      ignored.merge(IgnoreReason.NON_PRIMARY_TIER, 1L, Long::sum);
    } else {
      error =
          switch (event.kind()) {
            case STORED -> store(event);
            case REMOVED -> remove(event);
            case CLEARED -> KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
          };
    }
    cost += error == null ? Math.max(1, event.length()) : 0;
    return error;
  }

  /**
   * Ends the pushing: the replacements will be installed, perhaps by another thread.
   *
   * @throws IllegalArgumentException if one stands under another rank; then nothing has changed
   * @throws IllegalStateException if one was handed over before; then nothing has changed
   */
  static void handOver(Map<Member, RankReplacement> replacements) {
    replacements.forEach((rank, replacement) -> replacement.check(rank, replacement.handedOver));
    replacements.values().forEach(replacement -> replacement.handedOver = true);
  }

  /**
   * Takes replacements over for good: their tables become the pool's.
   *
   * @throws IllegalArgumentException if one stands under another rank; then nothing has changed
   * @throws IllegalStateException if one was consumed before; then nothing has changed
   */
  static void consume(Map<Member, RankReplacement> replacements) {
    replacements.forEach((rank, replacement) -> replacement.check(rank, replacement.consumed));
    for (RankReplacement replacement : replacements.values()) {
      replacement.handedOver = true;
      replacement.consumed = true;
    }
  }

  private void check(Member rank, boolean gone) {
    if (!rank.equals(member)) {
      throw new IllegalArgumentException(
          "replacements = {" + rank + "=replacement of rank " + member + "}: is another rank's");
    }
    if (gone) {
      throw handedOverAlready();
    }
  }

  private IllegalStateException handedOverAlready() {
    return new IllegalStateException("the replacement of rank " + member + " was handed over");
  }

  private @Nullable KvEventErrorKind store(KvEvent event) {
    int n = event.length();
    if (n == 0) {
      return null;
    }
    if (event.hasParent()) {
      if (lineage.find(Chunks.mix(event.parentHash())) < 0) {
        return KvEventErrorKind.PARENT_BLOCK_NOT_FOUND;
      }
    } else if (event.startPosition() > 0) {
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    try {
      reserve(n);
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
    int inserted = insertMappings(event);
    if (inserted < n) {
      for (int i = inserted - 1; i >= 0; i--) {
        if (scratch.positions[i] == LineageMap.ADDED) {
          lineage.removeAt(lineage.find(scratch.keys[i]));
        }
      }
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    for (int i = 0; i < n; i++) {
      if (scratch.positions[i] == LineageMap.ADDED) {
        addPlace(scratch.hashes[i]);
      }
    }
    return null;
  }

  /** Throws {@link OutOfMemoryError} with nothing changed. */
  private void reserve(int n) {
    scratch.ensure(n);
    if (orderSize + (long) n > order.length) {
      growOrder(n);
    }
    lineage.reserve(n);
    places.reserve(n);
  }

  /** Drops places that are no longer valid while copying. */
  private void growOrder(int n) {
    long[] next = memory.longs(Math.max(places.size() + (long) n, 2L * places.size()));
    int size = 0;
    for (int i = 0; i < orderSize; i++) {
      int place = places.find(Chunks.mix(order[i]));
      if (place >= 0 && places.valueAt(place) >>> 32 == i) {
        places.setValueAt(place, (long) size << 32 | (places.valueAt(place) & COUNT_MASK));
        next[size++] = order[i];
      }
    }
    order = next;
    orderSize = size;
  }

  /**
   * Number of blocks dealt with: all, or the index of the one whose engine hash is mapped to
   * another block. Says in the scratch's positions which mappings are new.
   */
  private int insertMappings(KvEvent event) {
    boolean root = !event.hasParent();
    long previous = root ? 0 : lineage.valueAt(lineage.find(Chunks.mix(event.parentHash())));
    for (int i = 0; i < event.length(); i++) {
      long local = event.localHash(i);
      long hash =
          i == 0 && root ? SequenceHashes.root(local) : SequenceHashes.child(previous, local);
      long key = Chunks.mix(event.engineHash(i));
      int result = lineage.put(key, hash);
      if (result == LineageMap.CONFLICT) {
        return i;
      }
      scratch.hashes[i] = hash;
      scratch.keys[i] = key;
      scratch.positions[i] = result;
      previous = hash;
    }
    return event.length();
  }

  private void addPlace(long hash) {
    long key = Chunks.mix(hash);
    int place = places.find(key);
    if (place >= 0) {
      places.setValueAt(place, places.valueAt(place) + 1);
    } else {
      places.insert(key, (long) orderSize << 32 | 1);
      order[orderSize++] = hash;
    }
  }

  private @Nullable KvEventErrorKind remove(KvEvent event) {
    for (int i = 0; i < event.length(); i++) {
      int position = lineage.find(Chunks.mix(event.engineHash(i)));
      if (position < 0) {
        unknownRemovals++;
      } else {
        dropPlace(lineage.valueAt(position));
        lineage.removeAt(position);
      }
    }
    return null;
  }

  private void dropPlace(long hash) {
    int place = places.find(Chunks.mix(hash));
    long value = places.valueAt(place);
    if ((value & COUNT_MASK) == 1) {
      places.removeAt(place);
    } else {
      places.setValueAt(place, value - 1);
    }
  }

  /** The lineage, for the pool that installs it: no larger than what is in it needs. */
  LineageMap trimmedLineage() {
    try {
      lineage.trim();
    } catch (OutOfMemoryError e) {
      // The larger table goes in.
      return lineage;
    }
    return lineage;
  }

  /** Number of places in the order, valid or not. */
  int orderSize() {
    return orderSize;
  }

  /** The block at a place of the replay order. */
  long hashAt(int index) {
    return order[index];
  }

  /** Whether the place is its block's latest one. */
  boolean isCandidate(int index) {
    int place = places.find(Chunks.mix(order[index]));
    return place >= 0 && places.valueAt(place) >>> 32 == index;
  }
}
