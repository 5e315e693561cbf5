package io.kvrelay.api;

/**
 * The isolation half of an indexer domain: which deployments may share routing decisions.
 *
 * @param digest digest of the identity material
 * @param source where the material came from; part of equality and order
 */
public record RoutingScopeId(Digest digest, IdentitySource source)
    implements Comparable<RoutingScopeId> {
  @Override
  public int compareTo(RoutingScopeId other) {
    int byDigest = digest.compareTo(other.digest);
    return byDigest != 0 ? byDigest : source.compareTo(other.source);
  }
}
