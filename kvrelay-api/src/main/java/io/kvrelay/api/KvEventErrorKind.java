package io.kvrelay.api;

/**
 * Why an event, or a part of one, was not applied to the exact state. The set is open: treat an
 * unlisted kind like a source rejection.
 */
public enum KvEventErrorKind {
  /** A store names a parent that this member does not hold. */
  PARENT_BLOCK_NOT_FOUND("ParentBlockNotFound"),
  /** A block that must exist does not. */
  BLOCK_NOT_FOUND("BlockNotFound"),
  /** An engine hash is already mapped to another block, or a root does not start at position 0. */
  INVALID_BLOCK_SEQUENCE("InvalidBlockSequence"),
  /** The filter had no room for a block; ownership is exact all the same. */
  CAPACITY_EXHAUSTED("CapacityExhausted"),
  /** Memory could not be reserved; nothing was changed. */
  ALLOCATION_FAILED("AllocationFailed"),
  /** A block would have more than 2^32 - 1 owners; nothing was changed. */
  OWNERSHIP_DEGREE_OVERFLOW("OwnershipDegreeOverflow"),
  /** The exact state contradicts itself or the filter. */
  INDEXER_INVARIANT_VIOLATION("IndexerInvariantViolation"),
  /** The residency domain is not one this index may act on. */
  UNSUPPORTED_RESIDENCY_DOMAIN("UnsupportedResidencyDomain");

  private final String wireName;

  KvEventErrorKind(String wireName) {
    this.wireName = wireName;
  }

  /**
   * The kind's name in reports and recordings.
   *
   * @return the name
   */
  public String wireName() {
    return wireName;
  }
}
