package io.kvrelay.engine.topology;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.hash.IdentityEntries;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The pool basis each card names. Cards of one endpoint mostly name the same, so each distinct
 * material is hashed once. Not thread safe.
 */
final class CardIdentities {
  private final Map<Object, CacheSemanticsId> semantics = new HashMap<>();
  private final Map<Object, RoutingScopeId> scopes = new HashMap<>();

  private record SemanticsKey(Object material, QuerySemantics semantics) {}

  /**
   * Null if the block size is zero.
   *
   * @throws IllegalArgumentException if an explicit map or a text cannot be part of an identity,
   *     which makes the whole card unreadable
   */
  @Nullable PoolBasis basisOf(ModelCard card) {
    IdentityEntries explicit = entries(card.explicitSemantics());
    RoutingScopeId scope = scopeOf(card);
    if (card.kvBlockSize() == 0) {
      return null;
    }
    QuerySemantics query = new QuerySemantics(card.kvBlockSize(), card.hashFormat());
    Object material = explicit == null ? card.sourcePath() : explicit;
    CacheSemanticsId id =
        semantics.computeIfAbsent(
            new SemanticsKey(material, query),
            key ->
                explicit == null
                    ? Identities.cacheSemantics(card.sourcePath(), query)
                    : Identities.cacheSemantics(explicit, query));
    return new PoolBasis(new IndexerDomainId(id, scope), query);
  }

  private RoutingScopeId scopeOf(ModelCard card) {
    IdentityEntries explicit = entries(card.explicitScope());
    return scopes.computeIfAbsent(
        explicit == null ? card.endpoint() : explicit,
        key ->
            explicit == null
                ? Identities.routingScope(card.endpoint())
                : Identities.routingScope(explicit));
  }

  private static @Nullable IdentityEntries entries(@Nullable Map<String, String> map) {
    return map == null ? null : IdentityEntries.of(map);
  }
}
