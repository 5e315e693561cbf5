package io.kvrelay.api;

/**
 * Caches that may be compared as one namespace: the same cache semantics within the same routing
 * scope.
 *
 * @param cacheSemantics what makes two blocks the same block
 * @param routingScope within which isolation boundary
 */
public record IndexerDomainId(CacheSemanticsId cacheSemantics, RoutingScopeId routingScope)
    implements Comparable<IndexerDomainId> {
  @Override
  public int compareTo(IndexerDomainId other) {
    int bySemantics = cacheSemantics.compareTo(other.cacheSemantics);
    return bySemantics != 0 ? bySemantics : routingScope.compareTo(other.routingScope);
  }
}
