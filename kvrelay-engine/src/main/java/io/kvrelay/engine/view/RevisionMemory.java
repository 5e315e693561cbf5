package io.kvrelay.engine.view;

import org.jspecify.annotations.Nullable;

/**
 * The revision rules of a stream of complete snapshots: a lower revision, or the same one with
 * another content, breaks the stream; the same one with the same content is a heartbeat; any higher
 * one replaces, numbers may be skipped. Confined to a plane's mailbox.
 */
final class RevisionMemory<T> {
  private final String what;
  private @Nullable T last;
  private long revision;

  RevisionMemory(String what) {
    this.what = what;
  }

  void begin() {
    last = null;
  }

  /**
   * Judges a value's revision.
   *
   * @return true if it is new, false if it is a heartbeat
   */
  boolean isNew(long newRevision, T value) {
    T before = last;
    if (before == null) {
      return true;
    }
    int order = Long.compareUnsigned(newRevision, revision);
    if (order < 0) {
      throw StreamPlane.violation(
          what
              + " revision = "
              + Long.toUnsignedString(newRevision)
              + ": lower than "
              + Long.toUnsignedString(revision)
              + " on the same stream");
    }
    if (order == 0 && !before.equals(value)) {
      throw StreamPlane.violation(
          what
              + " revision = "
              + Long.toUnsignedString(newRevision)
              + ": repeated with another content");
    }
    return order > 0;
  }

  void remember(long newRevision, T value) {
    revision = newRevision;
    last = value;
  }
}
