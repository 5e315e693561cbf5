package io.kvrelay.transport.grpc;

/** The streams of the contract, each with a limit of its own. */
public enum StreamKind {
  /** {@code WatchKvPoolCatalog}. */
  CATALOG,
  /** {@code SubscribeKvPool}. */
  POOL,
  /** {@code SubscribeServingReadiness}. */
  READINESS,
  /** {@code SubscribeKvPoolLoad}. */
  LOAD
}
