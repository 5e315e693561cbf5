package io.kvrelay.engine.view;

import io.kvrelay.api.ProducerIdentity;
import org.jspecify.annotations.Nullable;

/** What was wrong with an input that deactivated a lane. Sequences are unsigned. */
sealed interface LaneFault {
  /** A snapshot or delta of another producer under the current lease. */
  record WrongIdentity(ProducerIdentity expected, ProducerIdentity actual) implements LaneFault {}

  /** A snapshot that is not one word for each bucket. */
  record InvalidSnapshotBucketCount(int expected, int actual) implements LaneFault {}

  /** A snapshot ahead of a lane that is ready. */
  record SnapshotWhileReady(long installed, long snapshot) implements LaneFault {}

  /** A delta that does not continue what is installed. */
  record BaseSequenceMismatch(long expected, long actual) implements LaneFault {}

  /** A delta after the last sequence there is. */
  record SequenceExhausted(long base) implements LaneFault {}

  /** A delta that spans more than one step. */
  record NonContiguousSequence(long base, long sequence) implements LaneFault {}

  /** A delta without an image. */
  record EmptyDelta(long sequence) implements LaneFault {}

  /** An image of a bucket that does not exist. */
  record InvalidImageIndex(int bucket) implements LaneFault {}

  /** A second image of a bucket in one delta. */
  record DuplicateImageIndex(int bucket) implements LaneFault {}

  /**
   * A drain marker for another sequence than the installed one.
   *
   * @param actual the installed sequence, or null if the lane was not ready
   */
  record TerminalSequenceMismatch(long expected, @Nullable Long actual) implements LaneFault {}
}
