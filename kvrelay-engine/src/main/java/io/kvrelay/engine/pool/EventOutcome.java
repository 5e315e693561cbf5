package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEventErrorKind;
import org.jspecify.annotations.Nullable;

/**
 * What one event did. Owned and reused by the {@link PoolState} that returned it: valid until its
 * next call.
 */
public final class EventOutcome {
  @Nullable KvEventErrorKind firstError;
  @Nullable IgnoreReason ignored;
  @Nullable BucketImages publication;
  int unknownRemovals;
  boolean boundary;

  EventOutcome() {}

  void reset() {
    firstError = null;
    ignored = null;
    publication = null;
    unknownRemovals = 0;
    boundary = false;
  }

  /**
   * The first error of the event.
   *
   * @return the kind, or null
   */
  public @Nullable KvEventErrorKind firstError() {
    return firstError;
  }

  /**
   * Why the event does not concern this index.
   *
   * @return the reason, or null if it was applied or refused
   */
  public @Nullable IgnoreReason ignored() {
    return ignored;
  }

  /**
   * The images to publish. Belongs to the caller and stays valid.
   *
   * @return the images, or null
   */
  public @Nullable BucketImages publication() {
    return publication;
  }

  /**
   * Removals of engine hashes that the member does not hold.
   *
   * @return the number
   */
  public int unknownRemovals() {
    return unknownRemovals;
  }

  /**
   * Whether the event closed a publication window, with or without anything to publish.
   *
   * @return true at a boundary
   */
  public boolean boundary() {
    return boundary;
  }
}
