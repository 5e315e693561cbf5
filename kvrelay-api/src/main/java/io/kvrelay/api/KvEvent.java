package io.kvrelay.api;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One KV-cache event of one member: blocks stored, blocks removed, or the member's cache cleared.
 *
 * <p>Blocks are carried as two {@code long[]} and a range into them, never as objects. The arrays
 * are <em>not copied</em>: the creator hands them over and must not change them afterwards.
 * Instances are immutable on that condition and may be shared between threads.
 */
public final class KvEvent {
  /** What happened. */
  public enum Kind {
    /** Blocks entered the cache. */
    STORED,
    /** Blocks left the cache. */
    REMOVED,
    /** Everything of the member left the cache. */
    CLEARED
  }

  /** The {@code startPosition} of a store that gives none. */
  public static final long NO_START_POSITION = -1;

  private static final long[] NONE = {};

  private final Kind kind;
  private final Member member;
  private final long eventId;
  private final StorageTier tier;
  private final ResidencyDomain domain;
  private final boolean hasParent;
  private final long parentHash;
  private final long startPosition;
  private final long[] engineHashes;
  private final long[] localHashes;
  private final int offset;
  private final int length;

  private KvEvent(Builder b) {
    this.kind = b.kind;
    this.member = b.member;
    this.eventId = b.eventId;
    this.tier = b.tier;
    this.domain = b.domain;
    this.hasParent = b.hasParent;
    this.parentHash = b.parentHash;
    this.startPosition = b.startPosition;
    this.engineHashes = b.engineHashes;
    this.localHashes = b.localHashes;
    this.offset = b.offset;
    this.length = b.length;
  }

  /**
   * Starts a store of consecutive blocks of one sequence. It is a {@link StorageTier#DEVICE} event
   * of domain {@link ResidencyDomain#WORKER} unless the builder says otherwise.
   *
   * @param member whose cache
   * @param eventId the event's number in the member's publisher stream
   * @param engineHashes the engine's block ids
   * @param localHashes the blocks' local hashes, at the same indexes
   * @return a builder
   */
  public static Builder stored(
      Member member, long eventId, long[] engineHashes, long[] localHashes) {
    Check.that(
        engineHashes.length == localHashes.length,
        "localHashes.length",
        localHashes.length,
        "must equal engineHashes.length = " + engineHashes.length);
    return new Builder(Kind.STORED, member, eventId, engineHashes, localHashes);
  }

  /**
   * Starts a removal of blocks.
   *
   * @param member whose cache
   * @param eventId the event's number in the member's publisher stream
   * @param engineHashes the engine's block ids, possibly none
   * @return a builder
   */
  public static Builder removed(Member member, long eventId, long[] engineHashes) {
    return new Builder(Kind.REMOVED, member, eventId, engineHashes, NONE);
  }

  /**
   * Starts a clear of everything a member holds.
   *
   * @param member whose cache
   * @param eventId the event's number in the member's publisher stream
   * @return a builder
   */
  public static Builder cleared(Member member, long eventId) {
    return new Builder(Kind.CLEARED, member, eventId, NONE, NONE);
  }

  /** Assembles one event. Not thread safe. */
  public static final class Builder {
    private final Kind kind;
    private final Member member;
    private final long eventId;
    private StorageTier tier = StorageTier.DEVICE;
    private ResidencyDomain domain = ResidencyDomain.WORKER;
    private boolean hasParent;
    private long parentHash;
    private long startPosition = NO_START_POSITION;
    private final long[] engineHashes;
    private final long[] localHashes;
    private int offset;
    private int length;

    private Builder(
        Kind kind, Member member, long eventId, long[] engineHashes, long[] localHashes) {
      this.kind = kind;
      this.member = member;
      this.eventId = eventId;
      this.engineHashes = engineHashes;
      this.localHashes = localHashes;
      this.length = engineHashes.length;
    }

    /**
     * Limits the event to a range of its arrays.
     *
     * @param offset first index
     * @param length number of blocks
     * @return this
     * @throws IndexOutOfBoundsException if the range leaves the arrays
     */
    public Builder range(int offset, int length) {
      Objects.checkFromIndexSize(offset, length, engineHashes.length);
      this.offset = offset;
      this.length = length;
      return this;
    }

    /**
     * Sets the engine hash of the block before the first one. Stores only.
     *
     * @param parentHash the engine's id of the parent
     * @return this
     */
    public Builder parent(long parentHash) {
      Check.that(kind == Kind.STORED, "parentHash", parentHash, "only a store has a parent");
      this.hasParent = true;
      this.parentHash = parentHash;
      return this;
    }

    /**
     * Sets the position of the first block in its sequence. Stores only.
     *
     * @param startPosition an unsigned 32-bit position, or {@link #NO_START_POSITION}
     * @return this
     */
    public Builder startPosition(long startPosition) {
      Check.that(
          kind == Kind.STORED
              && startPosition >= NO_START_POSITION
              && startPosition <= 0xFFFF_FFFFL,
          "startPosition",
          startPosition,
          "must be an unsigned 32-bit position of a store");
      this.startPosition = startPosition;
      return this;
    }

    /**
     * Sets the storage tier.
     *
     * @param tier the tier
     * @return this
     */
    public Builder tier(StorageTier tier) {
      this.tier = tier;
      return this;
    }

    /**
     * Sets the residency domain.
     *
     * @param domain the domain
     * @return this
     */
    public Builder domain(ResidencyDomain domain) {
      this.domain = domain;
      return this;
    }

    /**
     * Creates the event.
     *
     * @return the event, sharing this builder's arrays
     */
    public KvEvent build() {
      return new KvEvent(this);
    }
  }

  /**
   * What happened.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * Whose cache changed.
   *
   * @return the member
   */
  public Member member() {
    return member;
  }

  /**
   * The event's number in its publisher's stream; not comparable over members or publishers.
   *
   * @return the unsigned number
   */
  public long eventId() {
    return eventId;
  }

  /**
   * Where the blocks lie.
   *
   * @return the tier
   */
  public StorageTier tier() {
    return tier;
  }

  /**
   * Who vouches for the blocks.
   *
   * @return the domain
   */
  public ResidencyDomain domain() {
    return domain;
  }

  /**
   * Whether a store continues a block that the member already holds.
   *
   * @return true if {@link #parentHash()} is meaningful
   */
  public boolean hasParent() {
    return hasParent;
  }

  /**
   * The engine hash of the block before the first one.
   *
   * @return the hash; 0 without a parent
   */
  public long parentHash() {
    return parentHash;
  }

  /**
   * The position of the first block in its sequence.
   *
   * @return 0..2^32-1, or {@link #NO_START_POSITION}
   */
  public long startPosition() {
    return startPosition;
  }

  /**
   * The array that holds the engine hashes, shared; valid from {@link #offset()} for {@link
   * #length()} entries.
   *
   * @return the array; do not change it
   */
  public long[] engineHashes() {
    return engineHashes;
  }

  /**
   * The array that holds a store's local hashes, shared; same range as {@link #engineHashes()}.
   *
   * @return the array; do not change it; empty unless this is a store
   */
  public long[] localHashes() {
    return localHashes;
  }

  /**
   * First valid index of the arrays.
   *
   * @return the index
   */
  public int offset() {
    return offset;
  }

  /**
   * Number of blocks.
   *
   * @return the number; 0 for a clear
   */
  public int length() {
    return length;
  }

  /**
   * Engine hash of one block.
   *
   * @param index 0..{@link #length()}-1
   * @return the hash
   */
  public long engineHash(int index) {
    return engineHashes[offset + index];
  }

  /**
   * Local hash of one stored block.
   *
   * @param index 0..{@link #length()}-1
   * @return the hash
   */
  public long localHash(int index) {
    return localHashes[offset + index];
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof KvEvent e
        && kind == e.kind
        && member.equals(e.member)
        && eventId == e.eventId
        && tier == e.tier
        && domain == e.domain
        && hasParent == e.hasParent
        && parentHash == e.parentHash
        && startPosition == e.startPosition
        && sameRange(engineHashes, e, e.engineHashes)
        && (kind != Kind.STORED || sameRange(localHashes, e, e.localHashes));
  }

  private boolean sameRange(long[] mine, KvEvent other, long[] theirs) {
    return Arrays.equals(
        mine, offset, offset + length, theirs, other.offset, other.offset + other.length);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, member, eventId, length);
  }

  @Override
  public String toString() {
    return kind
        + "{member="
        + member
        + ", eventId="
        + Long.toUnsignedString(eventId)
        + ", tier="
        + tier
        + ", domain="
        + domain
        + (hasParent ? ", parent=" + Long.toUnsignedString(parentHash) : "")
        + ", blocks="
        + length
        + "}";
  }
}
