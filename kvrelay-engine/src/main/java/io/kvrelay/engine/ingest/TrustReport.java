package io.kvrelay.engine.ingest;

import io.kvrelay.api.events.SourceTrust;

/** A level of trust and why. */
record TrustReport(SourceTrust level, String reason) {
  static final TrustReport EXACT = new TrustReport(SourceTrust.EXACT, "");

  static TrustReport degraded(String reason) {
    return new TrustReport(SourceTrust.DEGRADED, reason);
  }

  static TrustReport unknown(String reason) {
    return new TrustReport(SourceTrust.UNKNOWN, reason);
  }

  /** The worse of two; this one if they are equally bad. */
  TrustReport worse(TrustReport other) {
    return other.level.compareTo(level) > 0 ? other : this;
  }
}
