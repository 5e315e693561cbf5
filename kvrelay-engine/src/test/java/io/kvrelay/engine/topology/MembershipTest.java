package io.kvrelay.engine.topology;

import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.E2;
import static io.kvrelay.engine.topology.Cards.E3;
import static io.kvrelay.engine.topology.Cards.adapter;
import static io.kvrelay.engine.topology.Cards.base;
import static io.kvrelay.engine.topology.Cards.content;
import static io.kvrelay.engine.topology.Cards.view;
import static io.kvrelay.engine.topology.ConflictScope.POOL_MATERIALIZATION;
import static io.kvrelay.engine.topology.ConflictScope.SERVING_BINDING;
import static io.kvrelay.engine.topology.ConflictScope.SERVING_TOPOLOGY;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.hash.IdentityEntries;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MembershipTest {
  private static ModelRegistration lora(String served, String base, String runtimeName) {
    return new ModelRegistration(served, new ModelTarget.Lora(base, runtimeName), List.of());
  }

  private static List<ConflictScope> scopes(EndpointContent content) {
    return content.conflicts().stream().map(Conflict::scope).toList();
  }

  private static List<String> models(EndpointContent content) {
    return content.registrations().stream().map(ModelRegistration::canonicalModelId).toList();
  }

  @Test
  void oneCardMakesAnEndpointWithTheDefaultDomain() {
    MembershipView view = view(base(E1, 7, "llama").sourcePath("meta/llama").build());

    EndpointMembership member = view.endpoints().get(E1);
    assertThat(member.generation()).isEqualTo(1);
    EndpointContent content = member.content();
    QuerySemantics semantics = new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1);
    assertThat(content.basis().semantics()).isEqualTo(semantics);
    assertThat(content.basis().domain().cacheSemantics())
        .isEqualTo(Identities.cacheSemantics("meta/llama", semantics));
    assertThat(content.basis().domain().routingScope()).isEqualTo(Identities.routingScope(E1));
    assertThat(content.registrations()).containsExactly(ModelRegistration.base("llama"));
    assertThat(content.roles()).containsExactly(WorkerRole.AGGREGATED);
    assertThat(content.conflicts()).isEmpty();
    assertThat(content.allowsPool()).isTrue();
  }

  @Test
  void explicitMapsReplaceEachDimensionOnItsOwn() {
    ModelCard semantics =
        base(E1, 1, "m").sourcePath("x").explicitSemantics(Map.of("model", "x")).build();
    ModelCard scope = base(E1, 1, "m").sourcePath("x").explicitScope(Map.of("a", "b")).build();
    PoolBasis plain = content(view(base(E1, 1, "m").sourcePath("x").build()), E1).basis();
    PoolBasis bySemantics = content(view(semantics), E1).basis();
    PoolBasis byScope = content(view(scope), E1).basis();

    assertThat(bySemantics.domain().cacheSemantics())
        .isEqualTo(
            Identities.cacheSemantics(
                IdentityEntries.of(Map.of("model", "x")), bySemantics.semantics()))
        .isNotEqualTo(plain.domain().cacheSemantics());
    assertThat(bySemantics.domain().routingScope()).isEqualTo(plain.domain().routingScope());
    assertThat(byScope.domain().cacheSemantics()).isEqualTo(plain.domain().cacheSemantics());
    assertThat(byScope.domain().routingScope())
        .isEqualTo(Identities.routingScope(IdentityEntries.of(Map.of("a", "b"))));
  }

  @Test
  void differentSourcePathsUnderOneExplicitMapAreOneDomain() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").sourcePath("p").explicitSemantics(Map.of("k", "v")).build(),
                base(E1, 2, "m").sourcePath("q").explicitSemantics(Map.of("k", "v")).build()),
            E1);

    assertThat(content.conflicts()).isEmpty();
    assertThat(content.basis()).isNotNull();
  }

  @Test
  void aCardWithARejectedExplicitMapIsIgnored() {
    MembershipView view =
        view(
            base(E1, 1, "m").build(),
            base(E1, 2, "other").explicitSemantics(Map.of()).build(),
            base(E2, 3, "m").explicitScope(Map.of("k", "x".repeat(1025))).build(),
            base(E3, 4, "m").sourcePath("\ud800").build());

    assertThat(view.endpoints().keySet()).containsExactly(E1);
    assertThat(content(view, E1).workers()).hasSize(1);
    assertThat(view.ignored()).hasSize(3);
    assertThat(view.ignored().toString()).contains("entries = 0", "1025", "unpaired surrogate");
  }

  @Test
  void unchangedMembershipKeepsItsGenerationAndAReturnTakesTheNext() {
    MembershipTracker tracker = new MembershipTracker();
    ModelCard card = base(E1, 1, "m").build();

    MembershipView first = tracker.update(List.of(card));
    assertThat(tracker.update(List.of(card))).isSameAs(first);
    assertThat(tracker.update(List.of()).endpoints()).isEmpty();
    assertThat(tracker.update(List.of(card)).endpoints().get(E1).generation()).isEqualTo(2);
  }

  @Test
  void onlyTheEndpointThatChangedGetsANewGeneration() {
    MembershipTracker tracker = new MembershipTracker();
    MembershipView before =
        tracker.update(List.of(base(E1, 1, "a").build(), base(E2, 2, "b").build()));
    MembershipView after =
        tracker.update(
            List.of(
                base(E1, 1, "a").build(),
                base(E2, 2, "b").runtime(RuntimeConfig.DEFAULT.withTaints(Set.of("t"))).build(),
                base(E3, 3, "c").build()));

    assertThat(after.endpoints().get(E1).generation()).isEqualTo(1);
    assertThat(after.endpoints().get(E2).generation()).isGreaterThan(2);
    MembershipDiff diff = MembershipDiff.between(before, after);
    assertThat(diff.added()).extracting(EndpointMembership::endpoint).containsExactly(E3);
    assertThat(diff.changed()).extracting(EndpointMembership::endpoint).containsExactly(E2);
    assertThat(diff.removed()).isEmpty();
    assertThat(MembershipDiff.between(after, before).removed()).containsExactly(E3);
    assertThat(MembershipDiff.between(after, after).isEmpty()).isTrue();
  }

  @Test
  void aZeroBlockSizeLeavesNoDomainButTheRegistration() {
    EndpointContent content = content(view(base(E1, 1, "m").kvBlockSize(0).build()), E1);

    assertThat(content.basis()).isNull();
    assertThat(scopes(content)).containsExactly(POOL_MATERIALIZATION);
    assertThat(content.registrations()).containsExactly(ModelRegistration.base("m"));
    assertThat(content.servedBaseModel()).isEqualTo("m");
  }

  @Test
  void standardAndEagleOnOneEndpointConflictUntilOneIsGone() {
    MembershipTracker tracker = new MembershipTracker();
    ModelCard standard = base(E1, 1, "m").build();
    ModelCard eagle = base(E1, 2, "m").hashFormat(QueryHashFormat.DYNAMO_EAGLE_V1).build();

    EndpointMembership both = tracker.update(List.of(standard, eagle)).endpoints().get(E1);
    assertThat(both.content().basis()).isNull();
    assertThat(scopes(both.content())).containsExactly(POOL_MATERIALIZATION);
    assertThat(both.content().servedBaseModel()).isEqualTo("m");

    EndpointMembership healed = tracker.update(List.of(standard)).endpoints().get(E1);
    assertThat(healed.content().allowsPool()).isTrue();
    assertThat(healed.generation()).isGreaterThan(both.generation());
  }

  @Test
  void prefillAndDecodeOnTwoEndpointsAreTwoPools() {
    MembershipView view =
        view(
            base(E1, 1, "m").role(WorkerRole.PREFILL).build(),
            base(E2, 2, "m").role(WorkerRole.DECODE).build());

    assertThat(content(view, E1).basis().domain()).isNotEqualTo(content(view, E2).basis().domain());
    assertThat(content(view, E1).registrations()).isEqualTo(content(view, E2).registrations());
  }

  @Test
  void twoBaseModelsOnOneEndpointTakeItOutOfServing() {
    EndpointContent content =
        content(view(base(E1, 1, "a").build(), base(E1, 2, "b").sourcePath("a").build()), E1);

    assertThat(scopes(content)).contains(SERVING_TOPOLOGY);
    assertThat(content.servedBaseModel()).isNull();
    assertThat(content.allowsPool()).isFalse();
  }

  @Test
  void oneWorkerWithTwoBaseCardsTakesTheEndpointOutOfServing() {
    ModelCard card = base(E1, 1, "a").build();
    EndpointContent content = content(view(card, card), E1);

    assertThat(scopes(content)).containsExactly(SERVING_TOPOLOGY);
    assertThat(content.workers()).hasSize(1);
  }

  @Test
  void aSuffixWithoutAnAdapterOrTheReverseDropsOnlyThatCard() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").build(),
                base(E1, 2, "other").suffix("s").build(),
                base(E1, 3, "third").lora(new ModelCard.Lora("l", OptionalInt.empty())).build()),
            E1);

    assertThat(scopes(content)).containsExactly(SERVING_BINDING, SERVING_BINDING);
    assertThat(content.registrations()).containsExactly(ModelRegistration.base("m"));
    assertThat(content.workers()).hasSize(1);
    assertThat(content.allowsPool()).isTrue();
  }

  @Test
  void aMalformedAdapterSuppressesOnlyItself() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").build(),
                adapter(E1, 1, "", "r1").build(),
                adapter(E1, 1, "s2", " r2").build(),
                adapter(E1, 1, "good", "r3").build()),
            E1);

    assertThat(models(content)).containsExactly("good", "m");
    assertThat(scopes(content)).containsExactly(SERVING_BINDING, SERVING_BINDING);
  }

  @Test
  void anAdapterOnAnInvalidBaseIsAConflictAndOneWithoutABaseIsIgnored() {
    MembershipView view =
        view(
            base(E1, 1, "m").build(),
            base(E1, 2, "").build(),
            adapter(E1, 2, "s", "r").build(),
            adapter(E1, 3, "orphan", "r").build());
    EndpointContent content = content(view, E1);

    assertThat(models(content)).containsExactly("m");
    assertThat(scopes(content)).containsExactly(SERVING_BINDING, SERVING_BINDING);
    assertThat(view.ignored())
        .singleElement()
        .satisfies(problem -> assertThat(problem.detail()).contains("worker 3"));
  }

  @Test
  void invalidModelNamesRegisterNothing() {
    for (String bad : List.of("", " llama", "llama\u00a0", "\udc00")) {
      EndpointContent content = content(view(base(E1, 1, bad).sourcePath("p").build()), E1);

      assertThat(scopes(content)).containsExactly(SERVING_BINDING);
      assertThat(content.registrations()).isEmpty();
      assertThat(content.workers()).isEmpty();
      assertThat(content.roles()).isEmpty();
    }
  }

  @Test
  void theTargetHoldsTheRuntimeNameOfAnAdapterAndTheRegistrationTheServedOne() {
    EndpointContent content =
        content(view(base(E1, 1, "m").build(), adapter(E1, 1, "served", "runtime").build()), E1);

    assertThat(content.registrations())
        .containsExactly(ModelRegistration.base("m"), lora("served", "m", "runtime"));
    assertThat(content.adapters())
        .singleElement()
        .satisfies(a -> assertThat(a.carriers().keySet()).containsExactly(1L));
  }

  @Test
  void oneServedNameWithTwoTargetsRegistersNeither() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").build(),
                base(E1, 2, "m").build(),
                adapter(E1, 1, "served", "r1").build(),
                adapter(E1, 2, "served", "r2").build()),
            E1);

    assertThat(models(content)).containsExactly("m");
    assertThat(content.adapters()).isEmpty();
    assertThat(scopes(content)).containsExactly(SERVING_BINDING, SERVING_BINDING);
    assertThat(content.allowsPool()).isTrue();
  }

  @Test
  void differingCapacitiesOfOneWorkersAdapterConflictAndItCarriesItNoMore() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").build(),
                base(E1, 2, "m").build(),
                adapter(E1, 1, "s", "r").lora(new ModelCard.Lora("r", OptionalInt.of(1))).build(),
                adapter(E1, 1, "s", "r").lora(new ModelCard.Lora("r", OptionalInt.of(2))).build(),
                adapter(E1, 2, "s", "r").build()),
            E1);

    assertThat(scopes(content)).containsExactly(POOL_MATERIALIZATION);
    assertThat(content.adapters().get(0).carriers().keySet()).containsExactly(2L);
    assertThat(content.servedBaseModel()).isEqualTo("m");
  }

  @Test
  void anAliasThatTwoBindingsClaimIsOmittedEverywhereWithoutConflict() {
    MembershipView view =
        view(
            base(E1, 1, "a").aliases("chat", "a1").build(),
            base(E2, 2, "b").aliases("chat").build());

    assertThat(content(view, E1).registrations())
        .containsExactly(ModelRegistration.base("a", "a1"));
    assertThat(content(view, E2).registrations()).containsExactly(ModelRegistration.base("b"));
    assertThat(content(view, E1).conflicts()).isEmpty();
    assertThat(view.ignored()).hasSize(2);
  }

  @Test
  void aModelNameThatTwoBindingsClaimIsOmittedOnBoth() {
    MembershipView view =
        view(
            base(E1, 1, "m").build(),
            base(E2, 2, "b").build(),
            adapter(E2, 2, "m", "runtime").build());

    assertThat(content(view, E1).registrations()).isEmpty();
    assertThat(content(view, E2).registrations()).containsExactly(ModelRegistration.base("b"));
    assertThat(scopes(content(view, E1))).containsExactly(SERVING_BINDING);
    assertThat(scopes(content(view, E2))).containsExactly(SERVING_BINDING);
    assertThat(content(view, E1).servedBaseModel()).isNull();
  }

  @Test
  void anAliasEqualToAnotherEndpointsModelCostsThatModelItsBinding() {
    MembershipView view =
        view(base(E1, 1, "a").aliases("b", "x").build(), base(E2, 2, "b").build());

    assertThat(content(view, E1).registrations()).containsExactly(ModelRegistration.base("a", "x"));
    assertThat(content(view, E1).conflicts()).isEmpty();
    assertThat(content(view, E2).registrations()).isEmpty();
    assertThat(scopes(content(view, E2))).containsExactly(SERVING_BINDING);
  }

  @Test
  void oneBindingOnTwoEndpointsIsNotAmbiguous() {
    MembershipView view =
        view(
            base(E1, 1, "m").aliases("chat").build(),
            base(E2, 2, "m").aliases("chat").build(),
            adapter(E1, 1, "s", "r").build(),
            adapter(E2, 2, "s", "r").build());

    assertThat(content(view, E1).registrations()).isEqualTo(content(view, E2).registrations());
    assertThat(models(content(view, E1))).containsExactly("m", "s");
    assertThat(content(view, E1).conflicts()).isEmpty();
  }

  @Test
  void aliasesAreCheckedDeduplicatedAndSorted() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").aliases("chat", "m", "chat", "", " x", "abc").build(),
                base(E1, 2, "m").aliases("zeta").build()),
            E1);

    assertThat(content.registrations())
        .containsExactly(ModelRegistration.base("m", "abc", "chat", "zeta"));
  }

  @Test
  void registrationsAndEndpointsAreInTheOrderOfUtf8Bytes() {
    // U+FF5E comes before U+10000 in UTF-8, and after it in UTF-16.
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").build(),
                adapter(E1, 1, "\ud800\udc00", "r1").build(),
                adapter(E1, 1, "\uff5e", "r2").build(),
                adapter(E1, 1, "z", "r3").build()),
            E1);
    EndpointId late = new EndpointId("\ud800\udc00", "c", "e");
    EndpointId early = new EndpointId("\uff5e", "c", "e");

    assertThat(models(content)).containsExactly("m", "z", "\uff5e", "\ud800\udc00");
    assertThat(view(base(late, 1, "a").build(), base(early, 2, "b").build()).endpoints().keySet())
        .containsExactly(early, late);
  }

  @Test
  void rolesAreDistinctSortedAndLegacyForWorkersWithoutOne() {
    EndpointContent content =
        content(
            view(
                base(E1, 1, "m").role(null).build(),
                base(E1, 2, "m").role(WorkerRole.DECODE).build(),
                base(E1, 3, "m").role(WorkerRole.DECODE).build(),
                base(E1, 4, "m").role(null).modelTypes("Prefill").build()),
            E1);

    assertThat(content.roles())
        .containsExactly(WorkerRole.PREFILL, WorkerRole.DECODE, WorkerRole.LEGACY);
    assertThat(content.workers().get(3).needs()).isEqualTo(List.of(List.of(WorkerRole.DECODE)));
  }

  @Test
  void endpointsThatWouldShareOnePoolAreAllFencedAndHealTogether() {
    MembershipTracker tracker = new MembershipTracker();
    List<ModelCard> cards = new ArrayList<>();
    for (EndpointId endpoint : List.of(E1, E2, E3)) {
      cards.add(base(endpoint, cards.size(), "m").explicitScope(Map.of("shared", "scope")).build());
    }
    MembershipView all = tracker.update(cards);
    for (EndpointId endpoint : List.of(E1, E2, E3)) {
      assertThat(scopes(content(all, endpoint))).containsExactly(POOL_MATERIALIZATION);
      assertThat(content(all, endpoint).servedBaseModel()).isEqualTo("m");
    }

    MembershipView one = tracker.update(cards.subList(0, 1));
    assertThat(content(one, E1).allowsPool()).isTrue();
    assertThat(one.endpoints().get(E1).generation()).isGreaterThan(3);
  }

  @Test
  void anEndpointThatCannotHaveAPoolDoesNotFenceOneThatWouldShareIt() {
    Map<String, String> scope = Map.of("shared", "scope");
    MembershipView view =
        view(
            base(E1, 1, "m").explicitScope(scope).build(),
            base(E2, 2, "m").explicitScope(scope).build(),
            base(E2, 3, "m").explicitScope(scope).kvBlockSize(64).build());

    assertThat(content(view, E1).allowsPool()).isTrue();
    assertThat(scopes(content(view, E2))).containsExactly(POOL_MATERIALIZATION);
  }

  @Test
  void theOrderOfTheCardsDoesNotMatter() {
    List<ModelCard> cards =
        IntStream.range(0, 12)
            .mapToObj(i -> base(i % 2 == 0 ? E1 : E2, i, "m" + i % 3).aliases("x" + i % 4).build())
            .collect(Collectors.toCollection(ArrayList::new));
    MembershipView forward = new MembershipTracker().update(cards);
    java.util.Collections.reverse(cards);

    assertThat(new MembershipTracker().update(cards)).isEqualTo(forward);
  }
}
