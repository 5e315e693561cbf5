package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All numbers of one pool. The owner writes them, any thread reads them; together they are no
 * single moment's.
 */
final class PoolCounters {
  final Cell members = new Cell();
  final Cell contributions = new Cell();
  final Cell uniqueBlocks = new Cell();
  final Cell occupiedSlots = new Cell();
  final Cell unknownRemovals = new Cell();
  final Cell parentNotFound = new Cell();
  final Cell parentNotFoundBlocks = new Cell();
  final Cell capacityFailures = new Cell();
  final Cell physicalTouches = new Cell();
  final Cell distinctTouchedBuckets = new Cell();
  final Cell emittedImages = new Cell();
  final Cell netRevertedBuckets = new Cell();
  final Cell deferredDrains = new Cell();
  final Cell pendingEvents = new Cell();
  final Cell dirtyBuckets = new Cell();
  final Cell buckets = new Cell();
  final Cell lineageBytes = new Cell();
  final Cell ownerBytes = new Cell();
  final Cell windowBytes = new Cell();
  final Cell scratchBytes = new Cell();
  private final Cell[] events = new Cell[TierCounts.SIZE];
  private final EnumMap<IgnoreReason, Cell> ignored = new EnumMap<>(IgnoreReason.class);
  private final EnumMap<KvEventErrorKind, Cell> errors = new EnumMap<>(KvEventErrorKind.class);
  private final EnumMap<KvEventErrorKind, Cell> rankErrors = new EnumMap<>(KvEventErrorKind.class);

  PoolCounters() {
    Arrays.setAll(events, index -> new Cell());
    for (IgnoreReason reason : IgnoreReason.values()) {
      ignored.put(reason, new Cell());
    }
    for (KvEventErrorKind kind : KvEventErrorKind.values()) {
      errors.put(kind, new Cell());
      rankErrors.put(kind, new Cell());
    }
  }

  void countEvent(KvEvent event) {
    events[TierCounts.index(event.kind(), event.tier())].increment();
  }

  void countIgnored(IgnoreReason reason) {
    increment(ignored.get(reason));
  }

  void countError(KvEventErrorKind kind) {
    increment(errors.get(kind));
  }

  void countRankError(KvEventErrorKind kind) {
    increment(rankErrors.get(kind));
  }

  /** What an installed replacement met in its dump. */
  void countDump(RankReplacement dump) {
    unknownRemovals.add(dump.unknownRemovals());
    ignored.forEach((reason, cell) -> cell.add(dump.ignored(reason)));
  }

  private static void increment(@Nullable Cell cell) {
    if (cell != null) {
      cell.increment();
    }
  }

  /** Owner only: copies the sizes of the exact state. */
  void readSizes(ExactState exact, Scratch scratch) {
    members.set(exact.members().size());
    contributions.set(exact.contributions);
    uniqueBlocks.set(exact.owners.size());
    occupiedSlots.set(exact.owners.residents());
    physicalTouches.set(exact.window.physicalTouches());
    dirtyBuckets.set(exact.window.size());
    lineageBytes.set(exact.lineageBytes);
    ownerBytes.set(exact.owners.bytes());
    windowBytes.set(exact.window.bytes());
    scratchBytes.set(scratch.bytes());
    buckets.set(exact.filter.bucketCount());
  }

  PoolStatistics read() {
    return new PoolStatistics(
        members.get(),
        contributions.get(),
        uniqueBlocks.get(),
        occupiedSlots.get(),
        unknownRemovals.get(),
        parentNotFound.get(),
        parentNotFoundBlocks.get(),
        capacityFailures.get(),
        physicalTouches.get(),
        distinctTouchedBuckets.get(),
        emittedImages.get(),
        netRevertedBuckets.get(),
        deferredDrains.get(),
        pendingEvents.get(),
        dirtyBuckets.get(),
        buckets.get(),
        lineageBytes.get(),
        ownerBytes.get(),
        windowBytes.get(),
        scratchBytes.get(),
        new TierCounts(Arrays.stream(events).map(Cell::get).toList()),
        values(ignored),
        values(errors),
        values(rankErrors));
  }

  private static <K extends Enum<K>> Map<K, Long> values(EnumMap<K, Cell> cells) {
    Map<K, Long> copy = new LinkedHashMap<>();
    cells.forEach((key, cell) -> copy.put(key, cell.get()));
    return Collections.unmodifiableMap(copy);
  }
}
