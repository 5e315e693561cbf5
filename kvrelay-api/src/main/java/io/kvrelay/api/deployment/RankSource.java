package io.kvrelay.api.deployment;

import org.jspecify.annotations.Nullable;

/**
 * One expected rank's event source.
 *
 * @param status whether there is one to read
 * @param source the one to read, null unless the status is selectable
 */
public record RankSource(SourceStatus status, @Nullable EventSourceAdvertisement source) {
  /**
   * Checks that status and source fit.
   *
   * @param status whether there is one to read
   * @param source the one to read, null unless the status is selectable
   * @throws IllegalArgumentException if a selectable status lacks its source, or another has one
   */
  public RankSource {
    if (status.isSelectable() != (source != null)) {
      throw new IllegalArgumentException("source = " + source + ": does not fit status " + status);
    }
  }

  /**
   * A rank without a source to read.
   *
   * @param status why
   * @return the value
   */
  public static RankSource none(SourceStatus status) {
    return new RankSource(status, null);
  }

  /**
   * A rank with exactly one source.
   *
   * @param source the source
   * @return the value
   */
  public static RankSource of(EventSourceAdvertisement source) {
    return new RankSource(
        source.recoveryTarget() == null
            ? SourceStatus.ACTIVE_LIVE_ONLY
            : SourceStatus.ACTIVE_RECOVERABLE,
        source);
  }
}
