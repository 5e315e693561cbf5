package io.kvrelay.engine.pool;

/** Why a well-formed event does not concern the index of device memory. */
public enum IgnoreReason {
  /** A store or removal in another tier than device memory. */
  NON_PRIMARY_TIER("non_primary_tier"),
  /** An event of a cache owner, who is not a worker. */
  CACHE_OWNER_DOMAIN("cache_owner_domain");

  private final String label;

  IgnoreReason(String label) {
    this.label = label;
  }

  /**
   * The reason's name in reports.
   *
   * @return lower case with underscores
   */
  public String label() {
    return label;
  }
}
