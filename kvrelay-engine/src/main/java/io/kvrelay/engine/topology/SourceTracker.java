package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.deployment.SourceStatus;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * From advertised event sources to the source of each expected rank. Remembers the descriptor each
 * publisher came with: one that describes itself differently later cannot be trusted until it is
 * gone. Not thread safe.
 */
public final class SourceTracker {
  private record Publisher(EndpointId kvStateEndpoint, long publisherId) {}

  private record Rank(EndpointId kvStateEndpoint, Member member) {}

  private record Known(EventSourceAdvertisement first, boolean contradictory) {}

  private Map<Publisher, Known> known = Map.of();
  private List<RelayHealth.Problem> problems = List.of();

  /** Starts without knowledge of any publisher. */
  public SourceTracker() {}

  /**
   * Takes the complete advertisements that belong to the same facts as the membership.
   *
   * @param membership the membership
   * @param advertisements the advertisements, in any order
   * @return the sources per serving endpoint, by endpoint text
   */
  public SortedMap<EndpointId, EndpointSources> update(
      MembershipView membership, List<EventSourceAdvertisement> advertisements) {
    remember(advertisements);
    Map<Rank, List<EventSourceAdvertisement>> byRank = new HashMap<>();
    for (EventSourceAdvertisement source : advertisements) {
      byRank
          .computeIfAbsent(
              new Rank(source.kvStateEndpoint(), source.member()), r -> new ArrayList<>())
          .add(source);
    }
    Set<Rank> expected = new HashSet<>();
    SortedMap<EndpointId, EndpointSources> result = new TreeMap<>(TextOrder.ENDPOINTS);
    for (EndpointMembership member : membership.endpoints().values()) {
      result.put(member.endpoint(), sourcesOf(member.content(), byRank, expected));
    }
    byRank.keySet().removeAll(expected);
    problems = problems(membership, byRank.values().stream().mapToInt(List::size).sum());
    return Collections.unmodifiableSortedMap(result);
  }

  /**
   * What the latest update had no use for.
   *
   * @return workers whose rank numbers are not acceptable, and advertisements of no expected rank
   */
  public List<RelayHealth.Problem> problems() {
    return problems;
  }

  private static List<RelayHealth.Problem> problems(MembershipView membership, int strays) {
    List<RelayHealth.Problem> found = new ArrayList<>();
    for (EndpointMembership member : membership.endpoints().values()) {
      for (WorkerFacts worker : member.content().workers()) {
        if (!worker.runtime().hasValidRanks()) {
          found.add(
              new RelayHealth.Problem(
                  member.endpoint().toString(),
                  "worker "
                      + Long.toUnsignedString(worker.workerId())
                      + ": dataParallelStartRank = "
                      + Integer.toUnsignedString(worker.runtime().dataParallelStartRank())
                      + ", dataParallelSize = "
                      + Integer.toUnsignedString(worker.runtime().dataParallelSize())
                      + ": no ranks"));
        }
      }
    }
    if (strays > 0) {
      found.add(new RelayHealth.Problem("eventSources", strays + " belong to no expected rank"));
    }
    return List.copyOf(found);
  }

  private void remember(List<EventSourceAdvertisement> advertisements) {
    Map<Publisher, Known> next = new HashMap<>();
    for (EventSourceAdvertisement source : advertisements) {
      Publisher publisher = new Publisher(source.kvStateEndpoint(), source.publisherId());
      Known before = next.getOrDefault(publisher, known.get(publisher));
      boolean contradicts =
          before != null && (before.contradictory() || !before.first().describesTheSameAs(source));
      next.put(publisher, new Known(before == null ? source : before.first(), contradicts));
    }
    known = next;
  }

  private EndpointSources sourcesOf(
      EndpointContent content,
      Map<Rank, List<EventSourceAdvertisement>> byRank,
      Set<Rank> expected) {
    Set<EndpointId> endpoints = new HashSet<>();
    for (WorkerFacts worker : content.workers()) {
      endpoints.add(kvStateEndpoint(content.endpoint(), worker.runtime()));
    }
    EndpointId agreed = endpoints.size() == 1 ? endpoints.iterator().next() : null;
    TreeMap<Member, RankSource> ranks = new TreeMap<>();
    for (WorkerFacts worker : content.workers()) {
      EndpointId own = kvStateEndpoint(content.endpoint(), worker.runtime());
      for (Member member : members(worker)) {
        Rank rank = new Rank(own, member);
        expected.add(rank);
        ranks.put(member, select(worker.runtime(), agreed, byRank.get(rank)));
      }
    }
    return new EndpointSources(content.endpoint(), agreed, ranks);
  }

  private static EndpointId kvStateEndpoint(EndpointId serving, RuntimeConfig runtime) {
    EndpointId override = runtime.kvStateEndpoint();
    return override == null ? serving : override;
  }

  /** No rank where the numbers cannot be ranks. */
  private static List<Member> members(WorkerFacts worker) {
    List<Member> members = new ArrayList<>();
    RuntimeConfig runtime = worker.runtime();
    for (int i = 0; runtime.hasValidRanks() && i < runtime.dataParallelSize(); i++) {
      members.add(new Member(worker.workerId(), runtime.dataParallelStartRank() + i));
    }
    return members;
  }

  private RankSource select(
      RuntimeConfig runtime,
      @Nullable EndpointId agreed,
      @Nullable List<EventSourceAdvertisement> candidates) {
    if (runtime.eventsSuppressed()) {
      return RankSource.none(SourceStatus.SUPPRESSED);
    }
    if (agreed == null) {
      return RankSource.none(SourceStatus.AMBIGUOUS);
    }
    if (candidates == null) {
      return RankSource.none(SourceStatus.MISSING);
    }
    EventSourceAdvertisement only = candidates.get(0);
    for (EventSourceAdvertisement candidate : candidates) {
      if (candidate.publisherId() != only.publisherId() || isContradictory(candidate)) {
        return RankSource.none(SourceStatus.AMBIGUOUS);
      }
    }
    return RankSource.of(only);
  }

  private boolean isContradictory(EventSourceAdvertisement source) {
    Known publisher = known.get(new Publisher(source.kvStateEndpoint(), source.publisherId()));
    return publisher == null || publisher.contradictory();
  }
}
