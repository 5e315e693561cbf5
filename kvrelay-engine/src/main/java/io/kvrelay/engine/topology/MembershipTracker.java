package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.ModelCard;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * From cards to endpoint membership. The content of every endpoint is a pure function of the cards,
 * whatever their order; this class adds only the membership generations. Not thread safe.
 */
public final class MembershipTracker {
  // A total order of what can be told apart, so that the order of the input does not matter.
  private static final Comparator<ModelCard> ORDER =
      Comparator.comparing(ModelCard::endpoint, TextOrder.ENDPOINTS)
          .thenComparing(ModelCard::workerId, Long::compareUnsigned)
          .thenComparing(ModelCard::suffix, Comparator.nullsFirst(TextOrder.UTF8))
          .thenComparing(ModelCard::modelName)
          .thenComparing(ModelCard::sourcePath)
          .thenComparing(ModelCard::kvBlockSize, Integer::compareUnsigned)
          .thenComparing(ModelCard::hashFormat)
          .thenComparing(ModelCard::role, Comparator.nullsFirst(Comparator.naturalOrder()));

  private MembershipView view = MembershipView.EMPTY;
  private long lastGeneration;

  /** Starts without endpoints; the first generation is 1. */
  public MembershipTracker() {}

  /**
   * Takes the complete cards in scope.
   *
   * @param cards the cards, in any order
   * @return the view; the same object as before if nothing changed
   */
  public MembershipView update(List<ModelCard> cards) {
    List<RelayHealth.Problem> ignored = new ArrayList<>();
    Map<EndpointId, EndpointContent> contents = derive(cards, ignored);
    TreeMap<EndpointId, EndpointMembership> endpoints = new TreeMap<>(TextOrder.ENDPOINTS);
    contents.forEach(
        (endpoint, content) -> {
          EndpointMembership known = view.endpoints().get(endpoint);
          endpoints.put(
              endpoint,
              known != null && known.content().equals(content)
                  ? known
                  : new EndpointMembership(++lastGeneration, content));
        });
    MembershipView next = new MembershipView(endpoints, ignored);
    if (!next.equals(view)) {
      view = next;
    }
    return view;
  }

  /** The content of each endpoint, by endpoint text. */
  static Map<EndpointId, EndpointContent> derive(
      List<ModelCard> cards, List<RelayHealth.Problem> ignored) {
    TreeMap<EndpointId, EndpointDraft> drafts = new TreeMap<>(TextOrder.ENDPOINTS);
    readCards(cards, drafts, ignored);
    Map<String, Set<Binding>> claims = new HashMap<>();
    for (EndpointDraft draft : drafts.values()) {
      draft.claims(
          (name, binding) -> claims.computeIfAbsent(name, n -> new HashSet<>()).add(binding));
    }
    TreeMap<EndpointId, EndpointContent> contents = new TreeMap<>(TextOrder.ENDPOINTS);
    drafts.forEach(
        (endpoint, draft) ->
            contents.put(
                endpoint, draft.content(name -> claims.getOrDefault(name, Set.of()).size() > 1)));
    fenceSharedPools(contents);
    return contents;
  }

  private static void readCards(
      List<ModelCard> cards,
      Map<EndpointId, EndpointDraft> drafts,
      List<RelayHealth.Problem> ignored) {
    CardIdentities identities = new CardIdentities();
    List<ModelCard> adapters = new ArrayList<>();
    for (ModelCard raw : cards.stream().sorted(ORDER).toList()) {
      ModelCard card = raw.normalized();
      PoolBasis basis;
      try {
        basis = identities.basisOf(card);
      } catch (IllegalArgumentException unreadable) {
        ignored.add(problem(card.endpoint(), unreadable.getMessage()));
        continue;
      }
      EndpointDraft draft =
          drafts.computeIfAbsent(
              card.endpoint(),
              endpoint ->
                  new EndpointDraft(endpoint, detail -> ignored.add(problem(endpoint, detail))));
      if ((card.suffix() == null) != (card.lora() == null)) {
        draft.halfAdapter(card);
      } else if (card.lora() != null) {
        adapters.add(card);
      } else {
        draft.base(card, basis);
      }
    }
    for (ModelCard card : adapters) {
      Objects.requireNonNull(drafts.get(card.endpoint())).adapter(card);
    }
  }

  private static RelayHealth.Problem problem(EndpointId endpoint, @Nullable String detail) {
    return new RelayHealth.Problem(endpoint.toString(), String.valueOf(detail));
  }

  /** Endpoints whose pools would be one pool: none of them gets it. */
  private static void fenceSharedPools(Map<EndpointId, EndpointContent> contents) {
    Map<IndexerDomainId, List<EndpointId>> owners = new HashMap<>();
    contents.forEach(
        (endpoint, content) -> {
          PoolBasis basis = content.basis();
          if (basis != null && content.allowsPool()) {
            owners.computeIfAbsent(basis.domain(), d -> new ArrayList<>()).add(endpoint);
          }
        });
    owners.values().removeIf(endpoints -> endpoints.size() == 1);
    for (List<EndpointId> endpoints : owners.values()) {
      Conflict conflict =
          new Conflict(
              ConflictScope.POOL_MATERIALIZATION, "endpoints " + endpoints + " share one pool");
      endpoints.forEach(e -> contents.computeIfPresent(e, (k, c) -> c.withConflict(conflict)));
    }
  }
}
