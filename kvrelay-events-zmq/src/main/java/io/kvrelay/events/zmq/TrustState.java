package io.kvrelay.events.zmq;

import io.kvrelay.api.events.SourceTrust;
import java.util.EnumMap;
import java.util.Map;

/** All that speaks against a source at present. Not thread safe. */
final class TrustState {
  private final Map<TrustCause, String> causes = new EnumMap<>(TrustCause.class);
  private SourceTrust reported = SourceTrust.EXACT;
  private String reportedReason = "";

  /**
   * Records a cause. A cause that stands already keeps its first reason, unless the reason is of
   * something newer.
   */
  void raise(TrustCause cause, String reason) {
    causes.put(cause, reason);
  }

  /** Whether a cause stands; asked before a reason is put together. */
  boolean has(TrustCause cause) {
    return causes.containsKey(cause);
  }

  void drop(TrustCause cause) {
    causes.remove(cause);
  }

  /**
   * The process is another one, or its cache is empty: what spoke against the old picture is over.
   */
  void dropContentCauses() {
    drop(TrustCause.INCOMPLETE);
    drop(TrustCause.LOST_REMOVAL);
    drop(TrustCause.CONFLICT);
    drop(TrustCause.NO_ROOM);
  }

  /** The process is another one: it may be configured otherwise. */
  void dropProcessCauses() {
    dropContentCauses();
    drop(TrustCause.BLOCK_SIZE);
    drop(TrustCause.HASH_FORMAT);
    drop(TrustCause.OTHER_RANK);
    drop(TrustCause.ONLY_REFUSED);
  }

  SourceTrust level() {
    return causes.isEmpty() ? SourceTrust.EXACT : causes.keySet().iterator().next().level();
  }

  /** The gravest reason; empty if there is none. */
  String reason() {
    return causes.isEmpty() ? "" : causes.values().iterator().next();
  }

  /** Whether something changed since the last call, which then counts as reported. */
  boolean takeChange() {
    SourceTrust level = level();
    String reason = reason();
    boolean changed = level != reported || !reason.equals(reportedReason);
    reported = level;
    reportedReason = reason;
    return changed;
  }
}
