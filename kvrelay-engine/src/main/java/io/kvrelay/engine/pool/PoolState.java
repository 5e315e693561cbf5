package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.ckf.CkfConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * The authority over one pool: exact ownership, the filter that projects it, and the window of
 * changes since the last drain.
 *
 * <p>Applies events of all members, whole or not at all as the event's kind demands, and says at a
 * boundary which buckets to publish. Knows nothing of sequences, leases or threads: that is {@link
 * PoolPublisher} and {@link PoolActor}.
 *
 * <p>One thread at a time. Never blocks. In steady state {@link #apply} allocates nothing but the
 * images it returns.
 */
public final class PoolState {
  private final Memory memory;
  private final CkfConfig config;
  private final int publishEveryEvents;
  private final Scratch scratch;
  private final StoreOperation store;
  private final RemoveOperation removal;
  private final EventOutcome outcome = new EventOutcome();
  private ExactState exact;

  private int pendingEvents;
  private boolean materializing;
  private boolean deferred;

  private final PoolCounters counters = new PoolCounters();

  /**
   * Creates an empty pool.
   *
   * @param config the filter
   * @param publishEveryEvents primary events that close a publication window; at least 1
   * @throws IllegalArgumentException if {@code publishEveryEvents} is not positive
   * @throws OutOfMemoryError if the filter does not fit
   */
  public PoolState(CkfConfig config, int publishEveryEvents) {
    this(config, publishEveryEvents, Memory.HEAP);
  }

  PoolState(CkfConfig config, int publishEveryEvents, Memory memory) {
    if (publishEveryEvents <= 0) {
      throw new IllegalArgumentException(
          "publishEveryEvents = " + publishEveryEvents + ": must be positive");
    }
    this.memory = memory;
    this.config = config;
    this.publishEveryEvents = publishEveryEvents;
    this.scratch = new Scratch(memory);
    this.store = new StoreOperation(scratch);
    this.removal = new RemoveOperation(scratch);
    this.exact = new ExactState(config, memory, 0);
  }

  /**
   * Applies one event.
   *
   * @param event the event
   * @return what it did; valid until the next call
   */
  public EventOutcome apply(KvEvent event) {
    EventOutcome result = outcome;
    result.reset();
    counters.countEvent(event);
    if (!isPrimary(event, result)) {
      return result;
    }
    if (pendingEvents != Integer.MAX_VALUE) {
      pendingEvents++;
    }
    result.firstError =
        switch (event.kind()) {
          case STORED -> applyStore(event);
          case REMOVED -> applyRemoval(event, result);
          case CLEARED -> clear(event.member());
        };
    countError(result.firstError);
    if (pendingEvents >= publishEveryEvents) {
      result.publication = drain();
      result.boundary = !deferred;
    }
    return result;
  }

  /** Whether the event targets the index of device memory; if not, the outcome says why. */
  private boolean isPrimary(KvEvent event, EventOutcome result) {
    ResidencyDomain domain = event.domain();
    boolean clear = event.kind() == KvEvent.Kind.CLEARED;
    boolean device = event.tier() == StorageTier.DEVICE;
    if (domain.isUnsupported() || (domain == ResidencyDomain.CACHE_OWNER && device && !clear)) {
      result.firstError = KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN;
      countError(result.firstError);
      return false;
    }
    if (domain == ResidencyDomain.CACHE_OWNER) {
      result.ignored = IgnoreReason.CACHE_OWNER_DOMAIN;
    } else if (!device && !clear) {
      result.ignored = IgnoreReason.NON_PRIMARY_TIER;
    } else {
      return true;
    }
    counters.countIgnored(result.ignored);
    return false;
  }

  private @Nullable KvEventErrorKind applyStore(KvEvent event) {
    KvEventErrorKind error = store.apply(exact, event);
    counters.capacityFailures.add(store.omissions());
    if (error == KvEventErrorKind.PARENT_BLOCK_NOT_FOUND) {
      counters.parentNotFound.increment();
      counters.parentNotFoundBlocks.add(event.length());
    }
    return error;
  }

  private @Nullable KvEventErrorKind applyRemoval(KvEvent event, EventOutcome result) {
    KvEventErrorKind error = removal.apply(exact, event);
    result.unknownRemovals = removal.unknown();
    counters.unknownRemovals.add(removal.unknown());
    exact.trimOwners();
    return error;
  }

  private @Nullable KvEventErrorKind clear(Member member) {
    KvEventErrorKind error = removal.clear(exact, member);
    exact.trimOwners();
    return error;
  }

  private void countError(@Nullable KvEventErrorKind error) {
    if (error != null) {
      counters.countError(error);
    }
  }

  private @Nullable KvEventErrorKind countRankError(@Nullable KvEventErrorKind error) {
    if (error != null) {
      counters.countRankError(error);
    }
    return error;
  }

  /**
   * Closes the window: the buckets whose words differ from what they were when the window opened,
   * in the order of first touch. If the images cannot be allocated, the window stays open, see
   * {@link #isDeferred()}.
   *
   * @return the images, or null if nothing changed or nobody has taken a snapshot yet
   */
  public @Nullable BucketImages drain() {
    DirtyWindow window = exact.window;
    deferred = false;
    if (pendingEvents == 0 && window.size() == 0) {
      return null;
    }
    int changed = 0;
    for (int i = 0; i < window.size(); i++) {
      changed += exact.filter.word(window.bucket(i)) != window.before(i) ? 1 : 0;
    }
    BucketImages images = null;
    if (materializing && changed > 0) {
      try {
        images = materialize(window, changed);
      } catch (OutOfMemoryError e) {
        deferred = true;
        counters.deferredDrains.increment();
        return null;
      }
      counters.emittedImages.add(changed);
    }
    counters.distinctTouchedBuckets.add(window.size());
    counters.netRevertedBuckets.add(window.size() - changed);
    window.clear();
    pendingEvents = 0;
    return images;
  }

  /**
   * Whether the latest drain could not allocate its images, so that the window is still open.
   *
   * @return true until a drain succeeds
   */
  public boolean isDeferred() {
    return deferred;
  }

  private BucketImages materialize(DirtyWindow window, int changed) {
    int[] buckets = memory.ints(changed);
    long[] words = memory.longs(changed);
    int out = 0;
    for (int i = 0; i < window.size(); i++) {
      int bucket = window.bucket(i);
      long word = exact.filter.word(bucket);
      if (word != window.before(i)) {
        buckets[out] = bucket;
        words[out++] = word;
      }
    }
    return new BucketImages(buckets, words);
  }

  /**
   * Primary events since the last drain, failed ones included.
   *
   * @return the number, saturating at 2^31 - 1
   */
  public int pendingEvents() {
    return pendingEvents;
  }

  /**
   * Whether a drain would do anything.
   *
   * @return true if events are pending or buckets were written
   */
  public boolean hasPending() {
    return pendingEvents != 0 || exact.window.size() != 0;
  }

  /**
   * Removes every mapping of a member. The caller drains afterwards. An unknown member is a
   * success.
   *
   * @param member whose mappings
   * @return the error that stopped it, or null; what is left is exact, and the call can be repeated
   */
  public @Nullable KvEventErrorKind removeRank(Member member) {
    return countRankError(clear(member));
  }

  /**
   * Removes every mapping of every rank of a worker. The caller drains afterwards.
   *
   * @param workerId the worker
   * @return the error that stopped it, or null; what is left is exact, and the call can be repeated
   */
  public @Nullable KvEventErrorKind removeWorker(long workerId) {
    KvEventErrorKind error = null;
    for (Member member : members()) {
      if (member.workerId() == workerId && error == null) {
        error = removal.clear(exact, member);
      }
    }
    exact.trimOwners();
    return countRankError(error);
  }

  /**
   * Replaces the whole content of some ranks at once, by building the state of all ranks anew
   * beside the present one. The window then holds exactly the buckets that differ from what was
   * last published; the caller drains it. Ranks that are not named keep their mappings, and a block
   * that survives is absent at no time.
   *
   * @param replacements new content by rank; an empty one removes the rank. Consumed, whatever
   *     comes of it: to push to one of them or to install it again is an error
   * @return the error that prevented it, or null; with an error nothing has changed
   * @throws IllegalArgumentException if a replacement stands under another rank than its own
   * @throws IllegalStateException if one was consumed before
   */
  public @Nullable KvEventErrorKind replaceRanks(Map<Member, RankReplacement> replacements) {
    RankReplacement.consume(replacements);
    Rebuild rebuild = new Rebuild(config, memory, scratch);
    KvEventErrorKind error = rebuild.build(exact, replacements);
    if (error == null) {
      exact = rebuild.result();
      pendingEvents = 1;
      counters.capacityFailures.add(rebuild.omissions());
      replacements.values().forEach(counters::countDump);
    }
    return countRankError(error);
  }

  /**
   * Copies all bucket words.
   *
   * @return the words; the caller's
   * @throws OutOfMemoryError if the copy does not fit; then nothing has changed
   */
  public long[] copyWords() {
    long[] words = memory.longs(exact.filter.bucketCount());
    exact.filter.copyTo(words);
    return words;
  }

  /**
   * From now on drains return images. Call it exactly when a barrier snapshot has been taken and
   * its tail drained: what was left out before that is in the snapshot.
   */
  public void startMaterializing() {
    materializing = true;
  }

  /**
   * Whether drains return images.
   *
   * @return true after {@link #startMaterializing()}
   */
  public boolean isMaterializing() {
    return materializing;
  }

  /**
   * The filter's configuration.
   *
   * @return the configuration
   */
  public CkfConfig config() {
    return config;
  }

  /**
   * Whether the filter may hold a block: true for every resident block, and for any other with
   * equal representation.
   *
   * @param sequenceHash the block
   * @return the filter's answer
   */
  public boolean filterContains(long sequenceHash) {
    return exact.filter.contains(exact.addressing.mix(sequenceHash));
  }

  /**
   * How many mappings name a block. Exact.
   *
   * @param sequenceHash the block
   * @return 0..2^32-1
   */
  public long ownerCount(long sequenceHash) {
    long key = Chunks.mix(sequenceHash);
    int position = exact.owners.find(key);
    return position < 0 ? 0 : exact.owners.countAt(position, key);
  }

  /**
   * Whether an owned block has its copy in the filter. Exact.
   *
   * @param sequenceHash the block
   * @return false for a block that nobody owns, and for a capacity omission
   */
  public boolean isResident(long sequenceHash) {
    int position = exact.owners.find(Chunks.mix(sequenceHash));
    return position >= 0 && exact.owners.isResident(position);
  }

  /**
   * Number of mappings of one member.
   *
   * @param member the member
   * @return 0 if it is unknown
   */
  public int mappingCount(Member member) {
    LineageMap lineage = exact.members().get(member);
    return lineage == null ? 0 : lineage.size();
  }

  /**
   * Whether a member holds an engine hash.
   *
   * @param member the member
   * @param engineHash its block id
   * @return true if it is mapped
   */
  public boolean isMapped(Member member, long engineHash) {
    LineageMap lineage = exact.members().get(member);
    return lineage != null && lineage.find(Chunks.mix(engineHash)) >= 0;
  }

  /**
   * The sequence hash that a member's engine hash stands for.
   *
   * @param member the member
   * @param engineHash its block id
   * @return the sequence hash
   * @throws java.util.NoSuchElementException if it is not mapped
   */
  public long sequenceHash(Member member, long engineHash) {
    LineageMap lineage = exact.members().get(member);
    int position = lineage == null ? -1 : lineage.find(Chunks.mix(engineHash));
    if (lineage == null || position < 0) {
      throw new NoSuchElementException(
          "engineHash = " + Long.toUnsignedString(engineHash) + " of member " + member);
    }
    return lineage.valueAt(position);
  }

  /**
   * Members with at least one mapping, in order.
   *
   * @return a new list
   */
  public List<Member> members() {
    List<Member> sorted = new ArrayList<>(exact.members().keySet());
    sorted.sort(null);
    return sorted;
  }

  /**
   * Counters and sizes now. Reads no table.
   *
   * @return a copy
   */
  public PoolStatistics statistics() {
    readSizes();
    return counters.read();
  }

  /** Makes the sizes visible to readers of {@link #counters()}. */
  void readSizes() {
    counters.readSizes(exact, scratch);
    counters.pendingEvents.set(pendingEvents);
  }

  /** The numbers, to be read from any thread. */
  PoolCounters counters() {
    return counters;
  }

  /**
   * Buckets with at least one fingerprint, by a scan of the whole filter: for diagnosis only.
   *
   * @return the number
   */
  public int scanOccupiedBuckets() {
    int occupied = 0;
    for (int bucket = 0; bucket < exact.filter.bucketCount(); bucket++) {
      occupied += exact.filter.word(bucket) != 0 ? 1 : 0;
    }
    return occupied;
  }

  /** For tests that need a state that takes too long to reach. */
  ExactState exact() {
    return exact;
  }
}
