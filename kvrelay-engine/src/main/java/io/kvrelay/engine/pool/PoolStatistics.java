package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEventErrorKind;
import java.util.Map;

/**
 * A pool's counters and sizes at one moment. Counters never go down in one generation, replacements
 * of ranks included.
 *
 * @param members members with at least one mapping
 * @param contributions mappings of all members
 * @param uniqueBlocks blocks with at least one owner
 * @param occupiedSlots blocks that have their copy in the filter
 * @param unknownRemovals removals of engine hashes that were not mapped
 * @param parentNotFound stores refused because their parent was not mapped
 * @param parentNotFoundBlocks blocks of those stores
 * @param capacityFailures blocks that the filter had no room for, counted at each attempt with
 *     relocation
 * @param physicalTouches writes of filter buckets by inserts and removals
 * @param distinctTouchedBuckets buckets in the windows of all drains
 * @param emittedImages images handed to the publisher
 * @param netRevertedBuckets buckets that a drain found as they had been
 * @param deferredDrains drains put off because the images could not be allocated
 * @param pendingEvents events since the last drain
 * @param dirtyBuckets buckets written since the last drain
 * @param buckets buckets of the filter
 * @param lineageBytes memory of all lineage tables
 * @param ownerBytes memory of the owner table
 * @param windowBytes memory of the dirty window
 * @param scratchBytes working memory of the largest event so far
 * @param events events applied, ignored and refused, by kind and tier; those of dumps are not among
 *     them
 * @param ignored events that do not concern this index, by reason, those of installed dumps
 *     included; immutable
 * @param errors events by their first error, by kind; immutable
 * @param rankErrors failed attempts to empty or to replace ranks, by the kind of the error;
 *     immutable
 */
public record PoolStatistics(
    long members,
    long contributions,
    long uniqueBlocks,
    long occupiedSlots,
    long unknownRemovals,
    long parentNotFound,
    long parentNotFoundBlocks,
    long capacityFailures,
    long physicalTouches,
    long distinctTouchedBuckets,
    long emittedImages,
    long netRevertedBuckets,
    long deferredDrains,
    long pendingEvents,
    long dirtyBuckets,
    long buckets,
    long lineageBytes,
    long ownerBytes,
    long windowBytes,
    long scratchBytes,
    TierCounts events,
    Map<IgnoreReason, Long> ignored,
    Map<KvEventErrorKind, Long> errors,
    Map<KvEventErrorKind, Long> rankErrors) {

  /**
   * Events ignored for a reason, those of installed dumps included.
   *
   * @param reason the reason
   * @return the number
   */
  public long ignored(IgnoreReason reason) {
    return ignored.getOrDefault(reason, 0L);
  }

  /**
   * Events whose first error was of a kind.
   *
   * @param kind the kind
   * @return the number
   */
  public long errors(KvEventErrorKind kind) {
    return errors.getOrDefault(kind, 0L);
  }

  /**
   * Failed attempts to empty or to replace ranks, by a command and not by an event.
   *
   * @param kind the kind of the error
   * @return the number
   */
  public long rankErrors(KvEventErrorKind kind) {
    return rankErrors.getOrDefault(kind, 0L);
  }

  /**
   * Memory of the filter's words.
   *
   * @return bytes
   */
  public long filterBytes() {
    return 8 * buckets;
  }

  /**
   * Memory of the exact state: lineage and owners, without the filter.
   *
   * @return bytes
   */
  public long stateBytes() {
    return lineageBytes + ownerBytes;
  }
}
