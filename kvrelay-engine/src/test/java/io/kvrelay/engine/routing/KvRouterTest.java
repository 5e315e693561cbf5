package io.kvrelay.engine.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.routing.RankedPool.Verdict;
import io.kvrelay.engine.testing.Seeds;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.LoadReading;
import io.kvrelay.engine.view.MatchStatus;
import io.kvrelay.engine.view.PoolAnswer;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PoolReadiness;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KvRouterTest {
  private static final int BLOCK = 16;
  private static final LoadReading UNKNOWN_LOAD =
      new LoadReading(LoadReading.Coverage.PARTIAL, 0, 0, 1, 2);

  private final KvGlobalView view =
      KvGlobalView.create(ViewConfig.DEFAULTS, VirtualRuntime.inOrder(1));

  private KvRouter router(RouterConfig.Builder config) {
    return KvRouter.create(view, config.build());
  }

  private static PoolId pool(long dc) {
    IndexerDomainId domain =
        new IndexerDomainId(
            new CacheSemanticsId(new Digest(1, 1), IdentitySource.EXPLICIT),
            new RoutingScopeId(new Digest(2, 2), IdentitySource.EXPLICIT));
    return new PoolId(domain, new DcId(dc));
  }

  private static LoadReading load(long used) {
    return new LoadReading(LoadReading.Coverage.FULL, used, 100, 2, 2);
  }

  private static PoolMatch match(long dc, int depth, PoolReadiness readiness, LoadReading load) {
    return match(dc, depth, readiness, load, true);
  }

  private static PoolMatch match(
      long dc, int depth, PoolReadiness readiness, LoadReading load, boolean catalogFresh) {
    ModelRegistration registration = ModelRegistration.base("m");
    PoolDescriptor descriptor =
        new PoolDescriptor(
            new ProducerIdentity(pool(dc), 1, 1, new CkfFormat(1, 64)),
            new EndpointId("n", "c", "e"),
            List.of(registration),
            new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1),
            List.of(WorkerRole.AGGREGATED));
    return new PoolMatch(
        descriptor,
        registration,
        depth < 0 ? PoolAnswer.NO_REPLICA : PoolAnswer.DEPTH,
        depth,
        10,
        readiness,
        load,
        catalogFresh,
        "");
  }

  private static PoolMatch ready(long dc, int depth) {
    return match(dc, depth, PoolReadiness.READY, load(50));
  }

  private static PrefixMatch answer(PoolMatch... pools) {
    boolean any = List.of(pools).stream().anyMatch(PoolMatch::hasAnswer);
    return new PrefixMatch(any ? MatchStatus.ANSWERED : MatchStatus.NO_ANSWER, List.of(pools), "");
  }

  private static long dc(RoutingDecision decision) {
    return decision.pool().orElseThrow().dcId().value();
  }

  private static Verdict verdict(RoutingDecision decision, long dc) {
    return ranked(decision, dc).verdict();
  }

  private static RankedPool ranked(RoutingDecision decision, long dc) {
    return decision.ranking().stream()
        .filter(pool -> pool.candidate().dcId().value() == dc)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theLongestPrefixWins() {
    RoutingDecision decision =
        router(RouterConfig.builder()).decide(answer(ready(1, 3), ready(2, 7), ready(3, 5)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(decision.reason()).isEqualTo(RoutingReason.PREFIX);
    assertThat(decision.ranking())
        .extracting(pool -> pool.candidate().dcId().value())
        .containsExactly(2L, 3L, 1L);
    assertThat(decision.chosen().orElseThrow().candidate().reusableTokens()).isEqualTo(112);
    assertThat(ranked(decision, 1).why()).isEqualTo("score 48.0 against 112.0");
  }

  @Test
  void onlyReadyIsReady() {
    for (PoolReadiness readiness : PoolReadiness.values()) {
      RoutingDecision decision =
          router(RouterConfig.builder())
              .decide(answer(match(1, 9, readiness, load(1)), ready(2, 1)));
      boolean isReady = readiness == PoolReadiness.READY;
      assertThat(dc(decision)).as(readiness.toString()).isEqualTo(isReady ? 1 : 2);
      if (!isReady) {
        assertThat(verdict(decision, 1)).isEqualTo(Verdict.NOT_READY);
        assertThat(ranked(decision, 1).why()).contains(readiness.toString());
      }
    }
  }

  @Test
  void unknownReadinessMayBeAllowedButNothingLess() {
    for (PoolReadiness readiness : PoolReadiness.values()) {
      RoutingDecision decision =
          router(RouterConfig.builder().allowUnknownReadiness(true))
              .decide(answer(match(1, 9, readiness, load(1)), ready(2, 1)));
      boolean allowed = readiness == PoolReadiness.READY || readiness == PoolReadiness.UNKNOWN;
      assertThat(dc(decision)).as(readiness.toString()).isEqualTo(allowed ? 1 : 2);
    }
  }

  @Test
  void aStaleCatalogRulesAPoolOut() {
    RoutingDecision decision =
        router(RouterConfig.builder())
            .decide(answer(match(1, 9, PoolReadiness.READY, load(1), false), ready(2, 1)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(verdict(decision, 1)).isEqualTo(Verdict.STALE_CATALOG);
  }

  @Test
  void noAnswerIsNotADepthOfZero() {
    RoutingDecision decision =
        router(RouterConfig.builder()).decide(answer(ready(1, -1), ready(2, 0)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(verdict(decision, 1)).isEqualTo(Verdict.NO_ANSWER);
    assertThat(ranked(decision, 1).score()).isEmpty();
    assertThat(decision.explain()).contains("depth unknown").contains("depth 0 blocks");
  }

  // Ties.

  @Test
  void equalPrefixesGoToTheLowerRecentLoad() {
    Map<Long, Double> recent = Map.of(1L, 10.0, 2L, 9.0);
    RoutingDecision decision =
        router(
                RouterConfig.builder()
                    .recentLoad(dc -> OptionalDouble.of(recent.getOrDefault(dc.value(), 0.0))))
            .decide(answer(ready(1, 5), ready(2, 5)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(ranked(decision, 1).why()).contains("recent load 10.0 against 9.0");
  }

  @Test
  void unknownRecentLoadIsNotZero() {
    RoutingDecision decision =
        router(
                RouterConfig.builder()
                    .recentLoad(
                        dc -> dc.value() == 1 ? OptionalDouble.empty() : OptionalDouble.of(1000)))
            .decide(answer(ready(1, 5), ready(2, 5)));
    assertThat(dc(decision)).isEqualTo(2);
  }

  @Test
  void equalPrefixesGoToTheLowerLoadAndUnknownIsNotZero() {
    RoutingDecision decision =
        router(RouterConfig.builder())
            .decide(
                answer(
                    match(1, 5, PoolReadiness.READY, UNKNOWN_LOAD),
                    match(2, 5, PoolReadiness.READY, load(99)),
                    match(3, 5, PoolReadiness.READY, load(40))));
    assertThat(decision.ranking())
        .extracting(pool -> pool.candidate().dcId().value())
        .containsExactly(3L, 2L, 1L);
    assertThat(ranked(decision, 1).why()).contains("unknown (1/2 ranks)");
  }

  @Test
  void whatIsEqualInEverythingGoesToTheLowerPoolIdWhateverTheOrder() {
    Random random = Seeds.random();
    List<PoolMatch> pools = new ArrayList<>();
    for (long dc = 1; dc <= 8; dc++) {
      pools.add(match(dc, 4, PoolReadiness.READY, UNKNOWN_LOAD));
    }
    for (int i = 0; i < 50; i++) {
      Collections.shuffle(pools, random);
      RoutingDecision decision =
          router(RouterConfig.builder()).decide(answer(pools.toArray(new PoolMatch[0])));
      assertThat(decision.ranking())
          .extracting(pool -> pool.candidate().dcId().value())
          .containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
    }
  }

  // The load limit.

  private static RouterConfig.Builder recent(double... loads) {
    return RouterConfig.builder()
        .recentLoad(dc -> OptionalDouble.of(loads[Math.toIntExact(dc.value()) - 1]));
  }

  @Test
  void aDataCenterAboveTheLimitIsPassedOver() {
    // Mean 100, limit 125.
    RoutingDecision decision =
        router(recent(126, 125, 49)).decide(answer(ready(1, 9), ready(2, 5), ready(3, 4)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(verdict(decision, 1)).isEqualTo(Verdict.ABOVE_LOAD_LIMIT);
    assertThat(ranked(decision, 1).why()).contains("126.0").contains("125.0");
  }

  @Test
  void theMeanIsOverReadyDataCentersOnly() {
    RoutingDecision decision =
        router(recent(126, 100, 10_000))
            .decide(
                answer(ready(1, 9), ready(2, 5), match(3, 4, PoolReadiness.UNAVAILABLE, load(1))));
    assertThat(dc(decision)).as("mean 113, limit 141.25").isEqualTo(1);
  }

  @Test
  void ifOnlyAPoolAboveTheLimitHasADepthItIsTakenAndSaysSo() {
    RoutingDecision decision =
        router(recent(300, 1, 1)).decide(answer(ready(1, 9), ready(2, -1), ready(3, -1)));
    assertThat(dc(decision)).isEqualTo(1);
    assertThat(decision.reason()).isEqualTo(RoutingReason.PREFIX_ABOVE_LOAD_LIMIT);
    RoutingDecision fallback =
        router(recent(300, 1, 1).fallback(Fallback.nearestReady(dc -> -dc.value())))
            .decide(answer(ready(1, 9), ready(2, -1), ready(3, -1)));
    assertThat(dc(fallback)).isEqualTo(3);
    assertThat(fallback.reason()).isEqualTo(RoutingReason.NEAREST_READY);
  }

  @Test
  void withoutRecentLoadsThereIsNoLimit() {
    RoutingDecision decision =
        router(RouterConfig.builder()).decide(answer(ready(1, 9), ready(2, 5)));
    assertThat(dc(decision)).isEqualTo(1);
  }

  @Test
  void someDataCenterIsAlwaysWithinTheLimit() {
    Random random = Seeds.random();
    for (int round = 0; round < 500; round++) {
      double[] loads = random.doubles(4, 0, 1000).toArray();
      RoutingDecision decision =
          router(recent(loads))
              .decide(
                  answer(
                      ready(1, random.nextInt(10)),
                      ready(2, random.nextInt(10)),
                      ready(3, random.nextInt(10)),
                      ready(4, random.nextInt(10))));
      assertThat(decision.reason()).isEqualTo(RoutingReason.PREFIX);
      double mean = (loads[0] + loads[1] + loads[2] + loads[3]) / 4;
      RankedPool chosen = decision.chosen().orElseThrow();
      double own = loads[Math.toIntExact(chosen.candidate().dcId().value()) - 1];
      assertThat(own).isLessThanOrEqualTo(1.25 * mean);
      for (RankedPool other : decision.ranking()) {
        double load = loads[Math.toIntExact(other.candidate().dcId().value()) - 1];
        long tokens = other.candidate().reusableTokens();
        long best = chosen.candidate().reusableTokens();
        if (load <= 1.25 * mean) {
          assertThat(tokens < best || (tokens == best && load >= own)).isTrue();
        }
      }
    }
  }

  // Scorers.

  @Test
  void theBalancedScorerWeighsPrefixAgainstLoad() {
    PrefixMatch match =
        answer(
            match(1, 9, PoolReadiness.READY, load(95)),
            match(2, 7, PoolReadiness.READY, load(10)),
            match(3, 10, PoolReadiness.READY, UNKNOWN_LOAD));
    RouterConfig.Builder balanced = RouterConfig.builder().scorer(PoolScorer.balanced(1, 1, 1));
    assertThat(dc(router(balanced).decide(match))).isEqualTo(2);
    assertThat(dc(router(RouterConfig.builder()).decide(match))).isEqualTo(3);
  }

  @Test
  void aScorerMayNotTakeUnknownForZero() {
    assertThatThrownBy(() -> PoolScorer.balanced(1, 1, 0)).hasMessageContaining("unknownLoad = 0");
    assertThatThrownBy(() -> PoolScorer.balanced(-1, 1, 1)).hasMessageContaining("prefixWeight");
    assertThatThrownBy(() -> PoolScorer.balanced(1, Double.NaN, 1))
        .hasMessageContaining("loadWeight");
  }

  @Test
  void aScorerMayRuleAPoolOut() {
    RoutingDecision decision =
        router(
                RouterConfig.builder()
                    .scorer(c -> c.dcId().value() == 1 ? Double.NaN : c.reusableTokens()))
            .decide(answer(ready(1, 9), ready(2, 1)));
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(verdict(decision, 1)).isEqualTo(Verdict.RULED_OUT);
  }

  // Fallbacks.

  @Test
  void withoutAFallbackNothingIsChosen() {
    RoutingDecision decision =
        router(RouterConfig.builder()).decide(answer(ready(1, -1), ready(2, -1)));
    assertThat(decision.reason()).isEqualTo(RoutingReason.NO_PREFIX);
    assertThat(decision.pool()).isEqualTo(Optional.empty());
    assertThat(decision.ranking()).hasSize(2);
  }

  @Test
  void theNearestReadyPoolServesWhatNobodyHolds() {
    KvRouter router =
        router(
            RouterConfig.builder()
                .minPrefixTokens(1)
                .fallback(Fallback.nearestReady(dc -> Math.abs(dc.value() - 3))));
    PrefixMatch match =
        answer(
            ready(1, 0),
            match(3, 0, PoolReadiness.UNAVAILABLE, load(0)),
            ready(4, -1),
            ready(9, 0));
    RoutingDecision decision = router.decide(match);
    assertThat(dc(decision)).isEqualTo(4);
    assertThat(decision.reason()).isEqualTo(RoutingReason.NEAREST_READY);
    assertThat(ranked(decision, 1).why()).contains("the fallback decided");
    assertThat(dc(router.decide(answer(ready(1, 1), ready(4, 0))))).isEqualTo(1);
  }

  @Test
  void aPromptThatNobodyHoldsTakesTheFallbackWithoutFurtherSettings() {
    RoutingDecision decision =
        router(RouterConfig.builder().fallback(Fallback.nearestReady(dc -> 10 - dc.value())))
            .decide(answer(ready(1, 0), ready(9, 0)));
    assertThat(decision.reason()).isEqualTo(RoutingReason.NEAREST_READY);
    assertThat(dc(decision)).isEqualTo(9);
  }

  @Test
  void whatLostAgainstAFallbackIsToldSo() {
    RoutingDecision decision =
        router(
                RouterConfig.builder()
                    .minPrefixTokens(4 * BLOCK)
                    .fallback(Fallback.nearestReady(dc -> dc.value())))
            .decide(answer(ready(1, 0), ready(9, 3)));
    assertThat(decision.reason()).isEqualTo(RoutingReason.NEAREST_READY);
    assertThat(dc(decision)).isEqualTo(1);
    assertThat(ranked(decision, 9).why()).contains("the fallback decided");
  }

  @Test
  void aDeepPrefixThatTheScorerRatesLowIsStillWorthFollowing() {
    RoutingDecision decision =
        router(
                RouterConfig.builder()
                    .minPrefixTokens(5 * BLOCK)
                    .scorer(c -> c.dcId().value())
                    .fallback(Fallback.nearestReady(dc -> dc.value())))
            .decide(answer(ready(1, 9), ready(2, 0)));
    assertThat(decision.reason()).isEqualTo(RoutingReason.PREFIX);
    assertThat(dc(decision)).isEqualTo(2);
    assertThat(ranked(decision, 1).why()).isEqualTo("score 1.0 against 2.0");
  }

  @Test
  void aRecentLoadThatIsNoFigureIsUnknownAndCounted() {
    for (double wrong : new double[] {Double.NaN, -1, Double.POSITIVE_INFINITY}) {
      Map<Long, Double> loads = Map.of(1L, 300.0, 2L, 1.0, 3L, wrong);
      KvRouter router =
          router(RouterConfig.builder().recentLoad(dc -> OptionalDouble.of(loads.get(dc.value()))));
      RoutingDecision decision = router.decide(answer(ready(1, 9), ready(2, 1), ready(3, 0)));
      assertThat(verdict(decision, 1)).as("%s", wrong).isEqualTo(Verdict.ABOVE_LOAD_LIMIT);
      assertThat(ranked(decision, 3).candidate().recentLoad()).isEmpty();
      assertThat(router.refusedRecentLoads()).isEqualTo(1);
    }
  }

  @Test
  void anUnknownDepthIsNotExplainedAsZero() {
    String text = router(RouterConfig.builder()).decide(answer(ready(1, -1))).explain();
    assertThat(text).contains("depth unknown, READY").doesNotContain("saves 0");
  }

  @Test
  void roundRobinTakesReadyPoolsInTurn() {
    KvRouter router =
        router(RouterConfig.builder().minPrefixTokens(1).fallback(Fallback.roundRobin()));
    PrefixMatch match =
        answer(ready(1, 0), match(2, 0, PoolReadiness.UNKNOWN, load(0)), ready(3, -1), ready(4, 0));
    List<Long> chosen = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      chosen.add(dc(router.decide(match)));
    }
    assertThat(chosen).containsExactly(1L, 3L, 4L, 1L, 3L, 4L);
    assertThat(router.decisions()).containsEntry(RoutingReason.ROUND_ROBIN, 6L);
  }

  @Test
  void absenceIsNeverReadyForAFallbackEither() {
    RoutingDecision decision =
        router(RouterConfig.builder().fallback(Fallback.roundRobin()))
            .decide(answer(match(1, 5, PoolReadiness.NOT_REPORTED, load(0))));
    assertThat(decision.reason()).isEqualTo(RoutingReason.NONE_READY);
    assertThat(decision.pool()).isEmpty();
  }

  // The rest.

  @Test
  void anUnknownModelIsADecisionWithoutAChoice() {
    KvRouter router = router(RouterConfig.builder());
    RoutingDecision decision = router.route(PrefixRequest.of("nobody", 1, 2, 3));
    assertThat(decision.reason()).isEqualTo(RoutingReason.NO_CANDIDATE);
    assertThat(decision.matchStatus()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(decision.detail()).contains("nobody");
    assertThat(router.route(view.newQuery().model("nobody").tokens(new int[1], 0, 1)).reason())
        .isEqualTo(RoutingReason.NO_CANDIDATE);
    assertThat(
            router
                .decide(new PrefixMatch(MatchStatus.AMBIGUOUS_MODEL, List.of(), "two of them"))
                .reason())
        .isEqualTo(RoutingReason.AMBIGUOUS_MODEL);
    assertThat(router.decisions()).containsEntry(RoutingReason.NO_CANDIDATE, 2L);
  }

  @Test
  void badSettingsNameKeyAndValue() {
    assertThatThrownBy(() -> RouterConfig.builder().maxRecentLoadFactor(0.9).build())
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("max_recent_load_factor = 0.9");
    assertThatThrownBy(() -> RouterConfig.builder().maxRecentLoadFactor(Double.NaN).build())
        .hasMessageContaining("max_recent_load_factor = NaN");
    assertThatThrownBy(() -> RouterConfig.builder().minPrefixTokens(-1).build())
        .hasMessageContaining("min_prefix_tokens = -1");
  }
}
