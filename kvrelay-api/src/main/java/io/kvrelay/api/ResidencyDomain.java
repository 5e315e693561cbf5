package io.kvrelay.api;

/**
 * Who vouches for a block's residency, as read from an event. Parsing is fail-closed: {@link
 * #UNKNOWN} and {@link #INVALID} are never widened to anything else, and an explicit null is {@link
 * #INVALID}, not {@link #MISSING}.
 */
public enum ResidencyDomain {
  /** The field was absent (legacy writers). Arises only when decoding. */
  MISSING,
  /** The worker itself. What code in this process sets, for clears too. */
  WORKER,
  /** An owner of a shared cache. */
  CACHE_OWNER,
  /** A string this version does not know. */
  UNKNOWN,
  /** Anything but a string, explicit null included. */
  INVALID;

  /**
   * Whether an event of this domain must be refused.
   *
   * @return true for {@link #UNKNOWN} and {@link #INVALID}
   */
  public boolean isUnsupported() {
    return this == UNKNOWN || this == INVALID;
  }

  /**
   * The domain named by a string that is present in an event.
   *
   * @param wireName the string
   * @return the domain, {@link #UNKNOWN} if the string names none
   */
  public static ResidencyDomain ofWireName(String wireName) {
    return switch (wireName) {
      case "worker" -> WORKER;
      case "cache_owner" -> CACHE_OWNER;
      default -> UNKNOWN;
    };
  }
}
