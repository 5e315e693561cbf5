package io.kvrelay.api;

/**
 * One data center's KV publication within one indexer domain.
 *
 * <p>Order: cache semantics digest (unsigned bytes), its source, routing scope digest, its source,
 * data center id (unsigned). A pool id always has identity version {@value #IDENTITY_VERSION}; ids
 * of any other version cannot be represented and are quarantined by whoever decodes them.
 *
 * @param indexerDomain the domain
 * @param dcId the data center
 */
public record PoolId(IndexerDomainId indexerDomain, DcId dcId) implements Comparable<PoolId> {
  /** The only identity version of this contract. */
  public static final int IDENTITY_VERSION = 1;

  @Override
  public int compareTo(PoolId other) {
    int byDomain = indexerDomain.compareTo(other.indexerDomain);
    return byDomain != 0 ? byDomain : dcId.compareTo(other.dcId);
  }

  /**
   * {@code <semantics digest>:<scope digest>/<dc id>}, lower-case hexadecimal of fixed width;
   * sources are not shown.
   */
  @Override
  public String toString() {
    return indexerDomain.cacheSemantics().digest()
        + ":"
        + indexerDomain.routingScope().digest()
        + "/"
        + dcId;
  }
}
