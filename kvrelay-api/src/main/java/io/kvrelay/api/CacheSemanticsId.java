package io.kvrelay.api;

/**
 * The cache half of an indexer domain: event hashing, KV block size and everything else that makes
 * blocks comparable.
 *
 * @param digest digest of the identity material
 * @param source where the material came from; part of equality and order
 */
public record CacheSemanticsId(Digest digest, IdentitySource source)
    implements Comparable<CacheSemanticsId> {
  @Override
  public int compareTo(CacheSemanticsId other) {
    int byDigest = digest.compareTo(other.digest);
    return byDigest != 0 ? byDigest : source.compareTo(other.source);
  }
}
