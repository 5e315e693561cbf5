package io.kvrelay.engine.routing;

import io.kvrelay.api.DcId;
import io.kvrelay.engine.routing.RankedPool.Verdict;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PoolAnswer;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PoolReadiness;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewQuery;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Chooses a pool for a request.
 *
 * <p>A candidate must be known to be ready and shown by a catalog that is recent enough. Candidates
 * with a depth are rated by the scorer; the best score wins. Ties go to the longer prefix, then to
 * the pool with the lower recent load of its data center, then to a known KV load before an unknown
 * one and to the lower one, then to the lower pool id: the same inputs always give the same choice.
 * A data center whose recent load is too far above the mean is passed over as long as another pool
 * with a depth is left. If no candidate has a usable prefix, the fallback picks among the ready
 * ones.
 *
 * <p>An unknown load never counts as zero and a missing depth never as a depth of zero.
 *
 * <p>Thread safe, apart from the queries it is given. Does not block. Allocates the decision.
 */
public final class KvRouter {
  private static final Comparator<RankedPool> BEST_FIRST =
      Comparator.<RankedPool>comparingDouble(pool -> pool.score().orElse(Double.NEGATIVE_INFINITY))
          .reversed()
          .thenComparing(
              Comparator.<RankedPool>comparingLong(pool -> pool.candidate().reusableTokens())
                  .reversed())
          .thenComparingDouble(pool -> pool.candidate().recentLoad().orElse(Double.MAX_VALUE))
          .thenComparingDouble(
              pool -> pool.candidate().match().load().usedFraction().orElse(Double.MAX_VALUE))
          .thenComparing(pool -> pool.candidate().match().poolId());

  private final KvGlobalView view;
  private final RouterConfig config;
  private final AtomicLong turns = new AtomicLong();
  private final Map<RoutingReason, LongAdder> decisions = new EnumMap<>(RoutingReason.class);
  private final LongAdder refusedLoads = new LongAdder();

  private KvRouter(KvGlobalView view, RouterConfig config) {
    this.view = view;
    this.config = config;
    for (RoutingReason reason : RoutingReason.values()) {
      decisions.put(reason, new LongAdder());
    }
  }

  /**
   * Creates a router on a view.
   *
   * @param view the view; stays the caller's
   * @param config settings
   * @return the router
   */
  public static KvRouter create(KvGlobalView view, RouterConfig config) {
    return new KvRouter(view, config);
  }

  /**
   * Routes a request.
   *
   * @param request the request
   * @return the decision, with or without a choice
   */
  public RoutingDecision route(PrefixRequest request) {
    return decide(view.match(request));
  }

  /**
   * Runs a filled query and routes its request.
   *
   * @param query the query, of this router's view
   * @return the decision, with or without a choice
   */
  public RoutingDecision route(ViewQuery query) {
    query.run();
    return decide(query.toMatch());
  }

  /**
   * Routes a request whose answer is known already.
   *
   * @param match the view's answer
   * @return the decision, with or without a choice
   */
  public RoutingDecision decide(PrefixMatch match) {
    RoutingDecision decision =
        switch (match.status()) {
          case UNKNOWN_MODEL, NO_CANDIDATE -> empty(RoutingReason.NO_CANDIDATE, match);
          case AMBIGUOUS_MODEL -> empty(RoutingReason.AMBIGUOUS_MODEL, match);
          case ANSWERED, NO_ANSWER -> choose(match);
        };
    LongAdder counter = decisions.get(decision.reason());
    if (counter != null) {
      counter.increment();
    }
    return decision;
  }

  /**
   * Decisions since the router was created.
   *
   * @return how many for each reason
   */
  public Map<RoutingReason, Long> decisions() {
    Map<RoutingReason, Long> counts = new EnumMap<>(RoutingReason.class);
    decisions.forEach((reason, counter) -> counts.put(reason, counter.sum()));
    return counts;
  }

  /**
   * Figures of the host's {@link RecentLoad} that were negative, infinite or not a number. Such a
   * load counts as unknown.
   *
   * @return how many since the router was created
   */
  public long refusedRecentLoads() {
    return refusedLoads.sum();
  }

  private static RoutingDecision empty(RoutingReason reason, PrefixMatch match) {
    return new RoutingDecision(reason, match.status(), List.of(), match.detail());
  }

  private RoutingDecision choose(PrefixMatch match) {
    Ranking ranking = new Ranking();
    List<PoolCandidate> candidates = candidates(match);
    double limit = loadLimit(candidates);
    for (PoolCandidate candidate : candidates) {
      ranking.add(rate(candidate, limit));
    }
    if (ranking.ready().isEmpty()) {
      return ranking.decide(RoutingReason.NONE_READY, match, null);
    }
    RankedPool best = ranking.best(Verdict.OUTRANKED);
    if (best != null && ranking.isWorthFollowing(config)) {
      return ranking.decide(RoutingReason.PREFIX, match, best);
    }
    RankedPool fallback = fallback(ranking.ready());
    if (fallback != null) {
      return ranking.decide(
          config.fallback().kind() == Fallback.Kind.NEAREST
              ? RoutingReason.NEAREST_READY
              : RoutingReason.ROUND_ROBIN,
          match,
          fallback);
    }
    RankedPool loaded = ranking.best(Verdict.ABOVE_LOAD_LIMIT);
    return loaded != null
        ? ranking.decide(RoutingReason.PREFIX_ABOVE_LOAD_LIMIT, match, loaded)
        : ranking.decide(RoutingReason.NO_PREFIX, match, null);
  }

  private List<PoolCandidate> candidates(PrefixMatch match) {
    List<PoolCandidate> candidates = new ArrayList<>(match.pools().size());
    for (PoolMatch pool : match.pools()) {
      candidates.add(new PoolCandidate(pool, recentLoad(pool.poolId().dcId())));
    }
    return candidates;
  }

  private OptionalDouble recentLoad(DcId dcId) {
    OptionalDouble recent = config.recentLoad().of(dcId);
    double figure = recent.orElse(0);
    if (figure >= 0 && figure < Double.POSITIVE_INFINITY) {
      return recent;
    }
    refusedLoads.increment();
    return OptionalDouble.empty();
  }

  /** The mean is over data centers, however many pools each has. */
  private double loadLimit(List<PoolCandidate> candidates) {
    Map<DcId, Double> loads = new HashMap<>();
    for (PoolCandidate candidate : candidates) {
      if (isReady(candidate.match()) && candidate.recentLoad().isPresent()) {
        loads.put(candidate.dcId(), candidate.recentLoad().getAsDouble());
      }
    }
    double sum = 0;
    for (double load : loads.values()) {
      sum += load;
    }
    return loads.isEmpty()
        ? Double.POSITIVE_INFINITY
        : config.maxRecentLoadFactor() * (sum / loads.size());
  }

  private boolean isReady(PoolMatch match) {
    return match.readiness() == PoolReadiness.READY
        || (config.allowUnknownReadiness() && match.readiness() == PoolReadiness.UNKNOWN);
  }

  private RankedPool rate(PoolCandidate candidate, double limit) {
    PoolMatch match = candidate.match();
    if (!isReady(match)) {
      return unrated(candidate, Verdict.NOT_READY, "readiness is " + match.readiness());
    }
    if (!match.catalogFresh()) {
      return unrated(candidate, Verdict.STALE_CATALOG, "its catalog is too old");
    }
    if (match.answer() != PoolAnswer.DEPTH) {
      return unrated(candidate, Verdict.NO_ANSWER, match.answer() + ", " + match.detail());
    }
    double score = config.scorer().score(candidate);
    if (Double.isNaN(score)) {
      return unrated(candidate, Verdict.RULED_OUT, "the scorer ruled it out");
    }
    double recent = candidate.recentLoad().orElse(0);
    if (recent > limit) {
      return new RankedPool(
          candidate,
          Verdict.ABOVE_LOAD_LIMIT,
          OptionalDouble.of(score),
          "recent load " + recent + " is above the limit " + limit);
    }
    return new RankedPool(candidate, Verdict.OUTRANKED, OptionalDouble.of(score), "");
  }

  private static RankedPool unrated(PoolCandidate candidate, Verdict verdict, String why) {
    return new RankedPool(candidate, verdict, OptionalDouble.empty(), why);
  }

  private @Nullable RankedPool fallback(List<RankedPool> ready) {
    return switch (config.fallback().kind()) {
      case NONE -> null;
      case NEAREST -> nearest(ready);
      case ROUND_ROBIN ->
          ready.get((int) Long.remainderUnsigned(turns.getAndIncrement(), ready.size()));
    };
  }

  private RankedPool nearest(List<RankedPool> ready) {
    RankedPool nearest = ready.get(0);
    double least = config.fallback().distance(nearest.candidate().dcId());
    for (RankedPool pool : ready) {
      double distance = config.fallback().distance(pool.candidate().dcId());
      if (distance < least) {
        least = distance;
        nearest = pool;
      }
    }
    return nearest;
  }

  /** Collects what became of each candidate. */
  private static final class Ranking {
    private final List<RankedPool> pools = new ArrayList<>();

    void add(RankedPool pool) {
      pools.add(pool);
    }

    /** Candidates that could serve the request, prefix or not, in pool order. */
    List<RankedPool> ready() {
      List<RankedPool> ready = new ArrayList<>();
      for (RankedPool pool : pools) {
        switch (pool.verdict()) {
          case OUTRANKED, NO_ANSWER, ABOVE_LOAD_LIMIT -> ready.add(pool);
          default -> {}
        }
      }
      return ready;
    }

    /** Whether anyone within the load limit has a prefix that is long enough, if that matters. */
    boolean isWorthFollowing(RouterConfig config) {
      return config.fallback().kind() == Fallback.Kind.NONE
          || pools.stream()
              .filter(pool -> pool.verdict() == Verdict.OUTRANKED)
              .anyMatch(pool -> pool.candidate().reusableTokens() >= config.minPrefixTokens());
    }

    @Nullable RankedPool best(Verdict among) {
      return pools.stream().filter(pool -> pool.verdict() == among).min(BEST_FIRST).orElse(null);
    }

    RoutingDecision decide(RoutingReason reason, PrefixMatch match, @Nullable RankedPool chosen) {
      List<RankedPool> ordered = new ArrayList<>();
      if (chosen != null) {
        ordered.add(
            new RankedPool(
                chosen.candidate(), Verdict.CHOSEN, chosen.score(), chosenFor(reason, chosen)));
      }
      pools.stream()
          .filter(pool -> !pool.equals(chosen))
          .sorted(Comparator.comparing(RankedPool::verdict).thenComparing(BEST_FIRST))
          .forEach(pool -> ordered.add(chosen == null ? pool : compared(pool, chosen, reason)));
      return new RoutingDecision(reason, match.status(), ordered, match.detail());
    }

    private static String chosenFor(RoutingReason reason, RankedPool chosen) {
      return switch (reason) {
        case PREFIX -> "best score";
        case PREFIX_ABOVE_LOAD_LIMIT -> "best score, although " + chosen.why();
        case NEAREST_READY -> "nearest ready pool";
        default -> "next ready pool in turn";
      };
    }

    private static RankedPool compared(RankedPool pool, RankedPool chosen, RoutingReason reason) {
      if (pool.verdict() != Verdict.OUTRANKED) {
        return pool;
      }
      String why =
          reason == RoutingReason.PREFIX
              ? lostBy(pool, chosen)
              : "no prefix worth following: the fallback decided";
      return new RankedPool(pool.candidate(), pool.verdict(), pool.score(), why);
    }

    private static String lostBy(RankedPool pool, RankedPool chosen) {
      double score = pool.score().orElseThrow();
      double best = chosen.score().orElseThrow();
      if (score != best) {
        return "score " + score + " against " + best;
      }
      long tokens = pool.candidate().reusableTokens();
      long most = chosen.candidate().reusableTokens();
      if (tokens != most) {
        return "same score, saves " + tokens + " tokens against " + most;
      }
      if (!pool.candidate().recentLoad().equals(chosen.candidate().recentLoad())) {
        return "same prefix, recent load "
            + text(pool.candidate().recentLoad())
            + " against "
            + text(chosen.candidate().recentLoad());
      }
      if (!pool.candidate()
          .match()
          .load()
          .usedFraction()
          .equals(chosen.candidate().match().load().usedFraction())) {
        return "same prefix, load "
            + pool.candidate().match().load()
            + " against "
            + chosen.candidate().match().load();
      }
      return "equal in everything, higher pool id";
    }

    private static String text(OptionalDouble value) {
      return value.isPresent() ? Double.toString(value.getAsDouble()) : "unknown";
    }
  }
}
