package io.kvrelay.engine.topology;

import static io.kvrelay.api.ServingState.READY;
import static io.kvrelay.api.ServingState.UNAVAILABLE;
import static io.kvrelay.api.ServingState.UNKNOWN;
import static io.kvrelay.api.WorkerRole.AGGREGATED;
import static io.kvrelay.api.WorkerRole.DECODE;
import static io.kvrelay.api.WorkerRole.ENCODE;
import static io.kvrelay.api.WorkerRole.LEGACY;
import static io.kvrelay.api.WorkerRole.PREFILL;
import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.E2;
import static io.kvrelay.engine.topology.Cards.E3;
import static io.kvrelay.engine.topology.Cards.adapter;
import static io.kvrelay.engine.topology.Cards.base;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TopologyProjectionTest {
  private static final DcId DC = new DcId(42);

  private final List<TopologySnapshot> published = new ArrayList<>();
  private final TopologyProjection topology =
      new TopologyProjection(MembershipView.EMPTY, published::add);
  private final MembershipTracker tracker = new MembershipTracker();
  private MembershipView view = MembershipView.EMPTY;

  private void cards(ModelCard... cards) {
    view = tracker.update(List.of(cards));
    topology.membership(view);
  }

  private void cards(ModelCard.Builder... cards) {
    cards(Arrays.stream(cards).map(ModelCard.Builder::build).toArray(ModelCard[]::new));
  }

  /** Claims every endpoint and makes exactly these workers live. */
  private void live(long... workers) {
    Set<Long> live = new HashSet<>();
    for (long worker : workers) {
      live.add(worker);
    }
    for (EndpointId endpoint : view.endpoints().keySet()) {
      topology.claim(endpoint, 1);
      topology.liveness(endpoint, 1, live);
    }
  }

  private TopologySnapshot last() {
    return published.get(published.size() - 1);
  }

  private TopologyEntry entry(String model) {
    return last().entries().stream()
        .filter(e -> e.canonicalModelId().equals(model))
        .findFirst()
        .orElseThrow();
  }

  private AdapterReadiness adapterOf(String model) {
    assertThat(entry(model).adapters()).hasSize(1);
    return entry(model).adapters().get(0);
  }

  private static ModelCard.Builder typed(
      EndpointId endpoint, long worker, WorkerRole role, WorkerRole... need) {
    ModelCard.Builder card = ModelCard.builder(endpoint, worker, "m").role(role);
    return need.length == 0 ? card : card.need(need);
  }

  private static ModelCard.Builder encode(EndpointId endpoint, long worker) {
    return typed(endpoint, worker, ENCODE, PREFILL, DECODE).need(AGGREGATED);
  }

  private PoolDescriptor descriptor(EndpointId endpoint) {
    EndpointContent content = view.endpoints().get(endpoint).content();
    return descriptor(content.basis().poolId(DC), content, content.registrations());
  }

  private static PoolDescriptor descriptor(
      PoolId poolId, EndpointContent content, List<ModelRegistration> registrations) {
    return new PoolDescriptor(
        new ProducerIdentity(poolId, 1, 1, new CkfFormat(1, 16)),
        content.endpoint(),
        registrations,
        content.basis().semantics(),
        content.roles());
  }

  private void catalog(PoolDescriptor... pools) {
    topology.catalog(new PoolCatalog(1, List.of(pools)));
  }

  private PoolId link(EndpointId endpoint) {
    return entry("m").members().stream()
        .filter(member -> member.endpoint().equals(endpoint))
        .findFirst()
        .orElseThrow()
        .poolId();
  }

  @Test
  void theInitialSnapshotHasRevisionOne() {
    assertThat(published).containsExactly(new TopologySnapshot(1, List.of()));
  }

  @Test
  void twoAggregatedModelsOfOneNamespaceAreIndependent() {
    cards(base(E1, 1, "a"), base(E2, 2, "b"));
    live(1, 2);
    assertThat(entry("a").state()).isEqualTo(READY);
    assertThat(entry("b").state()).isEqualTo(READY);

    live(1);
    assertThat(entry("a").state()).isEqualTo(READY);
    assertThat(entry("b").state()).isEqualTo(UNAVAILABLE);
  }

  @Test
  void prefillAndDecodeThatNeedEachOtherAreReadyTogether() {
    cards(typed(E1, 1, PREFILL, DECODE), typed(E2, 2, DECODE, PREFILL));
    live(1, 2);

    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("m").presentRoles()).containsExactly(PREFILL, DECODE);
    assertThat(entry("m").missingRoles()).isEmpty();
    assertThat(entry("m").members())
        .containsExactly(
            new TopologyMember(E1, List.of(PREFILL), null),
            new TopologyMember(E2, List.of(DECODE), null));

    live(1);
    assertThat(entry("m").state()).isEqualTo(UNAVAILABLE);
    assertThat(entry("m").presentRoles()).containsExactly(PREFILL);
    assertThat(entry("m").missingRoles()).containsExactly(DECODE);
  }

  @Test
  void oneMetAlternativeIsEnoughAndADeadEncoderIsMissing() {
    cards(typed(E1, 1, PREFILL), typed(E2, 2, DECODE), encode(E3, 3));
    live(1, 2, 3);
    assertThat(entry("m").state()).isEqualTo(READY);

    live(1, 2);
    assertThat(entry("m").state()).isEqualTo(UNAVAILABLE);
    assertThat(entry("m").missingRoles()).containsExactly(ENCODE);
  }

  @Test
  void unmetNeedsAddTheAbsentRolesOfAllAlternatives() {
    cards(typed(E1, 1, PREFILL), encode(E3, 3));
    live(1, 3);

    assertThat(entry("m").missingRoles()).containsExactly(DECODE, AGGREGATED);
  }

  @Test
  void needsOfADeadWorkerDoNotCount() {
    cards(typed(E1, 1, AGGREGATED), typed(E2, 2, ENCODE, PREFILL, DECODE));
    live(1);

    assertThat(entry("m").missingRoles()).containsExactly(ENCODE);
  }

  @Test
  void duplicatedRolesAreListedForPrefillAndDecodeAndNeverGate() {
    cards(typed(E1, 1, PREFILL), typed(E2, 2, PREFILL));
    live(1, 2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("m").duplicateRoleEndpoints()).containsExactly(PREFILL);

    cards(typed(E1, 1, DECODE).modelTypes("chat"), typed(E1, 2, DECODE).modelTypes("completions"));
    live(1, 2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("m").duplicateRoleEndpoints()).containsExactly(DECODE);

    live(1);
    assertThat(entry("m").duplicateRoleEndpoints()).isEmpty();
  }

  @Test
  void alikeWorkersOfOneEndpointAreOneUnit() {
    cards(typed(E1, 1, DECODE), typed(E1, 2, DECODE));
    live(1, 2);

    assertThat(entry("m").duplicateRoleEndpoints()).isEmpty();
  }

  @Test
  void duplicatedEncodersAndAggregatedWorkersAreNotListed() {
    cards(
        typed(E1, 1, ENCODE),
        typed(E2, 2, ENCODE),
        typed(E1, 3, AGGREGATED),
        typed(E2, 4, AGGREGATED));
    live(1, 2, 3, 4);

    assertThat(entry("m").duplicateRoleEndpoints()).isEmpty();
    assertThat(entry("m").state()).isEqualTo(READY);
  }

  @Test
  void oneWorkerWithoutARoleSwitchesStrictGatingOff() {
    cards(typed(E1, 1, null), typed(E2, 2, DECODE, PREFILL));
    live(1);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("m").legacyFallbackActive()).isTrue();
    assertThat(entry("m").missingRoles()).isEmpty();

    live(2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("m").presentRoles()).containsExactly(DECODE);
    assertThat(entry("m").legacyFallbackActive()).isTrue();

    live();
    assertThat(entry("m").state()).isEqualTo(UNAVAILABLE);
    assertThat(entry("m").legacyFallbackActive()).isTrue();
    assertThat(entry("m").missingRoles()).isEmpty();
    assertThat(entry("m").members().get(0).roles()).containsExactly(LEGACY);
  }

  @Test
  void legacyFallbackListsNoDuplicates() {
    cards(typed(E1, 1, null), typed(E1, 2, PREFILL), typed(E2, 3, PREFILL));
    live(1, 2, 3);

    assertThat(entry("m").duplicateRoleEndpoints()).isEmpty();
  }

  @Test
  void oneEndpointWithoutKnownLivenessMakesTheEntryUnknown() {
    cards(typed(E1, 1, PREFILL), typed(E2, 2, PREFILL), typed(E3, 3, DECODE));
    live(1, 2, 3);
    topology.liveness(E3, 1, null);

    TopologyEntry entry = entry("m");
    assertThat(entry.state()).isEqualTo(UNKNOWN);
    assertThat(entry.presentRoles()).isEmpty();
    assertThat(entry.missingRoles()).isEmpty();
    assertThat(entry.duplicateRoleEndpoints()).containsExactly(PREFILL);
    assertThat(entry.legacyFallbackActive()).isFalse();

    cards(typed(E1, 1, null), typed(E2, 2, PREFILL), typed(E3, 3, DECODE));
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    assertThat(entry("m").legacyFallbackActive()).isTrue();
  }

  @Test
  void anEmptyAuthoritativeSetIsUnavailableNotUnknown() {
    cards(base(E1, 1, "m"));
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    live();
    assertThat(entry("m").state()).isEqualTo(UNAVAILABLE);
  }

  @Test
  void writingWhatIsKnownPublishesNothing() {
    cards(base(E1, 1, "m"));
    live(1);
    int before = published.size();

    live(1);
    topology.liveness(E1, 1, Set.of(1L, 99L));
    topology.membership(view);
    catalog();

    assertThat(published).hasSize(before);
  }

  @Test
  void aBatchPublishesAtMostOnceWhatItComesTo() {
    cards(base(E1, 1, "m"));
    live(1);
    int before = published.size();

    topology.batch(
        () -> {
          cards(base(E1, 1, "m"), base(E2, 2, "m"), base(E3, 3, "b"));
          live(1, 2);
        });
    assertThat(published).hasSize(before + 1);
    assertThat(entry("m").members()).hasSize(2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(entry("b").state()).isEqualTo(UNAVAILABLE);

    topology.batch(() -> live(1, 2, 3));
    assertThat(published).hasSize(before + 2);
    assertThat(entry("b").state()).isEqualTo(READY);
    topology.batch(
        () -> {
          live();
          live(1, 2, 3);
        });
    assertThat(published).hasSize(before + 2);
  }

  @Test
  void aBatchThatEndsTheTopologyLeavesItEmpty() {
    topology.batch(
        () -> {
          cards(base(E1, 1, "m"));
          topology.end();
        });
    assertThat(published).containsExactly(new TopologySnapshot(1, List.of()));
  }

  @Test
  void theRevisionGrowsByOneWithEachDifference() {
    cards(base(E1, 1, "m"));
    live(1);
    live();

    assertThat(published).extracting(TopologySnapshot::revision).containsExactly(1L, 2L, 3L, 4L);
  }

  @Test
  void onlyTheOwningSlotWritesLiveness() {
    cards(base(E1, 1, "m"));
    live(1);

    topology.claim(E1, 2);
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    topology.liveness(E1, 1, Set.of(1L));
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    topology.claim(E1, 1);
    topology.liveness(E1, 2, Set.of(1L));
    assertThat(entry("m").state()).isEqualTo(READY);
    topology.claim(E1, 2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(topology.statistics()).isEqualTo(new TopologyProjection.Statistics(1, 1, 0));
  }

  @Test
  void aMembershipChangeUnderOneSlotKeepsLiveness() {
    cards(base(E1, 1, "m"));
    live(1);
    cards(base(E1, 1, "m").aliases("x"), base(E1, 2, "m"));

    assertThat(entry("m").state()).isEqualTo(READY);
  }

  @Test
  void anEndpointThatLeavesLosesItsOwnerAndWhatThatWrote() {
    cards(base(E1, 1, "m"));
    live(1);
    cards(new ModelCard[0]);
    assertThat(last().entries()).isEmpty();
    cards(base(E1, 1, "m"));
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    topology.liveness(E1, 1, Set.of(1L));
    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
  }

  @Test
  void aClaimOutsideTheMembershipIsIgnored() {
    topology.claim(E1, 1);
    cards(base(E1, 1, "m"));
    topology.liveness(E1, 1, Set.of(1L));

    assertThat(entry("m").state()).isEqualTo(UNKNOWN);
    assertThat(topology.statistics()).isEqualTo(new TopologyProjection.Statistics(1, 1, 0));
  }

  @Test
  void aPoolConflictLeavesAMemberWithoutALink() {
    cards(base(E1, 1, "m"), base(E1, 2, "m").kvBlockSize(64));
    live(1, 2);

    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(link(E1)).isNull();
  }

  @Test
  void aTopologyConflictTakesTheMemberOut() {
    cards(base(E1, 1, "m"), base(E1, 2, "other"), base(E2, 3, "m"));
    live(1, 2, 3);

    assertThat(entry("m").members()).extracting(TopologyMember::endpoint).containsExactly(E2);
    assertThat(last().entries()).hasSize(1);
  }

  @Test
  void aMemberLinksToThePoolThatTheCatalogShowsAlike() {
    cards(base(E1, 1, "m").aliases("x", "y"), adapter(E1, 1, "s", "r"));
    live(1);
    assertThat(link(E1)).isNull();

    EndpointContent content = view.endpoints().get(E1).content();
    PoolId poolId = content.basis().poolId(DC);
    List<ModelRegistration> reversed =
        List.of(content.registrations().get(1), ModelRegistration.base("m", "y", "x"));
    catalog(descriptor(poolId, content, reversed));
    assertThat(link(E1)).isEqualTo(poolId);

    catalog();
    assertThat(link(E1)).isNull();
    assertThat(entry("m").state()).isEqualTo(READY);
  }

  @Test
  void theLinkIsAbsentDuringAnyDriftAndTheStateDoesNotDependOnIt() {
    ModelCard.Builder card = base(E1, 1, "m");
    cards(card);
    live(1);
    PoolDescriptor shown = descriptor(E1);
    catalog(shown);
    assertThat(link(E1)).isNotNull();

    List<ModelCard> drifts =
        List.of(
            base(E1, 1, "m").aliases("new").build(),
            base(E1, 1, "m").role(DECODE).build(),
            base(E1, 1, "m").kvBlockSize(64).build(),
            base(E1, 1, "m").sourcePath("elsewhere").build());
    for (ModelCard drift : drifts) {
      cards(drift);
      assertThat(link(E1)).as(drift.toString()).isNull();
      assertThat(entry("m").state()).isEqualTo(READY);
      catalog(descriptor(E1));
      assertThat(link(E1)).as(drift.toString()).isNotNull();
      cards(card);
      catalog(shown);
      assertThat(link(E1)).isNotNull();
    }
  }

  @Test
  void querySemanticsMustAgreeToo() {
    cards(base(E1, 1, "m"));
    live(1);
    PoolDescriptor shown = descriptor(E1);
    QuerySemantics other = new QuerySemantics(99, shown.querySemantics().hashFormat());

    catalog(new PoolDescriptor(shown.producer(), E1, shown.registrations(), other, shown.roles()));
    assertThat(link(E1)).isNull();
  }

  @Test
  void twoDescriptorsForOneEndpointAndModelLinkNothing() {
    cards(base(E1, 1, "m"));
    live(1);
    EndpointContent content = view.endpoints().get(E1).content();

    catalog(
        descriptor(E1),
        descriptor(
            new PoolId(content.basis().domain(), new DcId(43)), content, content.registrations()));
    assertThat(link(E1)).isNull();
  }

  @Test
  void oneModelInTwoNamespacesIsTwoEntries() {
    EndpointId far = EndpointId.parse("other.comp.ep");
    cards(typed(E1, 1, PREFILL, DECODE), typed(far, 2, DECODE, PREFILL));
    live(1, 2);

    assertThat(last().entries())
        .extracting(TopologyEntry::namespace, TopologyEntry::state)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("ns", UNAVAILABLE),
            org.assertj.core.groups.Tuple.tuple("other", UNAVAILABLE));
  }

  @Test
  void duplicatesAndMissingRolesStayWithTheirModel() {
    cards(typed(E1, 1, PREFILL, DECODE), typed(E2, 2, PREFILL, DECODE), base(E3, 3, "b"));
    live(1, 2, 3);

    assertThat(entry("m").duplicateRoleEndpoints()).containsExactly(PREFILL);
    assertThat(entry("m").state()).isEqualTo(UNAVAILABLE);
    assertThat(entry("b").duplicateRoleEndpoints()).isEmpty();
    assertThat(entry("b").state()).isEqualTo(READY);
  }

  @Test
  void anAdapterOnAnAggregatedWorkerIsReady() {
    cards(base(E1, 1, "m"), adapter(E1, 1, "s", "r"));
    live(1);

    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", READY, List.of()));
  }

  @Test
  void anAdapterOnDecodeAloneLacksPrefill() {
    cards(typed(E1, 1, PREFILL), typed(E2, 2, DECODE), adapter(E2, 2, "s", "r"));
    live(1, 2);

    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", UNAVAILABLE, List.of(PREFILL)));
  }

  @Test
  void anAdapterOnAggregatedAloneLacksTheOtherDeclaredRoles() {
    cards(
        typed(E1, 1, PREFILL),
        typed(E2, 2, DECODE),
        typed(E3, 3, AGGREGATED),
        adapter(E3, 3, "s", "r"));
    live(1, 2, 3);

    assertThat(adapterOf("m"))
        .isEqualTo(new AdapterReadiness("s", UNAVAILABLE, List.of(PREFILL, DECODE)));
  }

  @Test
  void encodersNeedNotCarryAnAdapter() {
    cards(
        typed(E1, 1, PREFILL),
        typed(E2, 2, DECODE),
        encode(E3, 3),
        adapter(E1, 1, "s", "r"),
        adapter(E2, 2, "s", "r"));
    live(1, 2, 3);
    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", READY, List.of()));

    live(1, 2);
    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", UNAVAILABLE, List.of(ENCODE)));
  }

  @Test
  void anAdapterOfAnUnknownEntryIsUnknown() {
    cards(base(E1, 1, "m"), adapter(E1, 1, "s", "r"), base(E2, 2, "m"));
    live(1, 2);
    topology.liveness(E2, 1, null);

    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", UNKNOWN, List.of()));
  }

  @Test
  void theOnlyLiveCarrierOfARoleCounts() {
    cards(base(E1, 1, "m"), adapter(E1, 1, "s", "r"), base(E1, 2, "m"));
    live(1, 2);
    assertThat(adapterOf("m").state()).isEqualTo(READY);

    live(2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(adapterOf("m"))
        .isEqualTo(new AdapterReadiness("s", UNAVAILABLE, List.of(AGGREGATED)));
  }

  @Test
  void underLegacyFallbackOneLiveCarrierIsEnough() {
    cards(typed(E1, 1, null), adapter(E1, 1, "s", "r"), typed(E2, 2, PREFILL));
    live(1, 2);
    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", READY, List.of()));

    live(2);
    assertThat(entry("m").state()).isEqualTo(READY);
    assertThat(adapterOf("m")).isEqualTo(new AdapterReadiness("s", UNAVAILABLE, List.of()));
  }

  @Test
  void theEndEmptiesTheTopologyAndNothingComesAfter() {
    cards(base(E1, 1, "m").runtime(RuntimeConfig.DEFAULT));
    live(1);
    long before = last().revision();

    topology.end();
    topology.end();
    assertThat(last()).isEqualTo(new TopologySnapshot(before + 1, List.of()));
    int count = published.size();

    cards(base(E2, 2, "x"));
    live(2);
    catalog();
    assertThat(published).hasSize(count);
    assertThat(topology.statistics().ignoredLate()).isEqualTo(4);
  }
}
