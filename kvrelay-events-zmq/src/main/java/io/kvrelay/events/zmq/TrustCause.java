package io.kvrelay.events.zmq;

import io.kvrelay.api.events.SourceTrust;

/** Why a source's picture is not exact; the graver cause first. */
enum TrustCause {
  /** No connection, so what is known may be long gone. */
  UNREACHABLE(SourceTrust.UNKNOWN),
  /** Connected, and nothing heard so far. */
  SILENT(SourceTrust.UNKNOWN),
  /** Connected again, and not yet sure that it is the same process. */
  UNVERIFIED(SourceTrust.UNKNOWN),
  /** Two publishers answer as one. */
  TWO_PUBLISHERS(SourceTrust.UNKNOWN),
  /** A replay is under way. */
  REPLAYING(SourceTrust.DEGRADED),
  /** What the engine cached before is not known, and cannot be asked for. */
  INCOMPLETE(SourceTrust.DEGRADED),
  /** A removal or a clear could not be read: some of what is there may be gone. */
  LOST_REMOVAL(SourceTrust.DEGRADED),
  /** The engine's blocks have another size than the pool's. */
  BLOCK_SIZE(SourceTrust.DEGRADED),
  /** The engine hashes pairs of tokens, the pool does not. */
  HASH_FORMAT(SourceTrust.DEGRADED),
  /** Batches name another rank. */
  OTHER_RANK(SourceTrust.DEGRADED),
  /** One engine hash stood for two contents. */
  CONFLICT(SourceTrust.DEGRADED),
  /** More blocks than the configured bound. */
  NO_ROOM(SourceTrust.DEGRADED),
  /** For some time nothing but refused events. */
  ONLY_REFUSED(SourceTrust.DEGRADED);

  private final SourceTrust level;

  TrustCause(SourceTrust level) {
    this.level = level;
  }

  SourceTrust level() {
    return level;
  }
}
