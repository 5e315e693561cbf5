package io.kvrelay.api;

/**
 * Where a digest's material came from. Part of equality: equal digests of different sources are
 * different identities.
 */
public enum IdentitySource {
  /** Derived from deployment metadata because nothing was configured. */
  DEFAULT_DERIVED,
  /** Given explicitly by the operator. */
  EXPLICIT
}
