package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.ScriptedRelay.MODEL;
import static io.kvrelay.engine.view.ScriptedRelay.SEMANTICS;
import static io.kvrelay.engine.view.ScriptedRelay.descriptor;
import static io.kvrelay.engine.view.ScriptedRelay.producer;
import static io.kvrelay.engine.view.ViewRig.filter;
import static io.kvrelay.engine.view.ViewRig.hashes;
import static io.kvrelay.engine.view.ViewRig.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.RequestObjects;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** From a name to pools, hashes, readiness and load. */
class ResolutionTest {
  private static final ProducerIdentity A = producer(1, 1, 9, 1);
  private static final ProducerIdentity B = producer(1, 2, 9, 2);
  private static final ProducerIdentity C = producer(2, 3, 9, 3);
  private static final int[] PROMPT = prompt(1, 8);
  private static final QuerySemantics EAGLE =
      new QuerySemantics(2, QueryHashFormat.DYNAMO_EAGLE_V1);

  private final ViewRig rig = new ViewRig();
  private final ScriptedRelay relay = new ScriptedRelay(9);

  private static ModelRegistration lora(String served, String base, String adapter) {
    return new ModelRegistration(served, new ModelTarget.Lora(base, adapter), List.of());
  }

  private static PoolDescriptor named(ProducerIdentity producer, ModelRegistration... names) {
    return descriptor(producer, WorkerRole.AGGREGATED, names);
  }

  private static PoolDescriptor in(String namespace, PoolDescriptor descriptor) {
    return new PoolDescriptor(
        descriptor.producer(),
        new EndpointId(namespace, "w", "generate"),
        descriptor.registrations(),
        descriptor.querySemantics(),
        descriptor.roles());
  }

  private static PoolDescriptor with(QuerySemantics semantics, PoolDescriptor descriptor) {
    return new PoolDescriptor(
        descriptor.producer(),
        descriptor.servingEndpoint(),
        descriptor.registrations(),
        semantics,
        descriptor.roles());
  }

  private void attach(PoolDescriptor... descriptors) {
    relay.show(1, descriptors);
    rig.attach(relay);
  }

  private PrefixMatch match(PrefixRequest.Builder request) {
    return rig.view.match(request.tokens(PROMPT).build());
  }

  private PrefixMatch match(String model) {
    return match(PrefixRequest.builder(model));
  }

  // Names.

  @Test
  void canonicalNamesAndAliasesResolveToTheSamePools() {
    relay.serve(filter(A, PROMPT));
    attach(named(A, ModelRegistration.base(MODEL, "alias", "other")));
    for (String name : List.of(MODEL, "alias", "other")) {
      assertThat(match(name).pools()).hasSize(1);
      assertThat(match(name).pools().get(0).depth()).isEqualTo(8);
    }
    assertThat(match("nobody").status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(match("nobody").detail()).contains("nobody");
    assertThat(rig.count(ViewCounter.QUERIES_UNKNOWN_MODEL)).isEqualTo(2);
  }

  @Test
  void oneNameOnSeveralPoolsIsFineForTheSameTarget() {
    attach(named(A, ModelRegistration.base(MODEL)), named(B, ModelRegistration.base(MODEL)));
    assertThat(match(MODEL).pools()).hasSize(2);
    assertThat(rig.view.state().ambiguousNames()).isEmpty();
  }

  @Test
  void aNameForTwoTargetsIsLeftOutAndTheOtherNamesStay() {
    attach(
        named(A, ModelRegistration.base("llama", "chat")),
        named(B, ModelRegistration.base("qwen", "chat")));
    PrefixMatch match = match("chat");
    assertThat(match.status()).isEqualTo(MatchStatus.AMBIGUOUS_MODEL);
    assertThat(match.pools()).isEmpty();
    assertThat(match.detail()).contains("llama").contains("qwen");
    assertThat(match("llama").pools()).hasSize(1);
    assertThat(rig.view.state().ambiguousNames()).containsExactly("chat");
    assertThat(rig.count(ViewCounter.QUERIES_AMBIGUOUS_MODEL)).isEqualTo(1);
    // It heals with the catalog.
    relay.catalog.sendAll(
        new PoolCatalog(2, List.of(named(A, ModelRegistration.base("llama", "chat")))));
    rig.settle();
    assertThat(match("chat").pools()).hasSize(1);
  }

  @Test
  void aNameThatTwoSourcesDisagreeOnIsAmbiguousToo() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity far = producer(1, 2, 10, 1);
    second.show(1, named(far, ModelRegistration.base("qwen", "chat")));
    attach(named(A, ModelRegistration.base("llama", "chat")));
    Attachment other = rig.attach(second);
    assertThat(match("chat").status()).isEqualTo(MatchStatus.AMBIGUOUS_MODEL);
    other.close();
    rig.settle();
    assertThat(match("chat").pools()).hasSize(1);
  }

  @Test
  void aNamespaceNarrowsTheLookUpAndItsAmbiguity() {
    attach(
        in("eu", named(A, ModelRegistration.base("llama", "chat"))),
        in("us", named(B, ModelRegistration.base("qwen", "chat"))));
    assertThat(match("chat").status()).isEqualTo(MatchStatus.AMBIGUOUS_MODEL);
    PrefixMatch eu = match(PrefixRequest.builder("chat").namespace("eu"));
    assertThat(eu.pools()).extracting(PoolMatch::poolId).containsExactly(A.poolId());
    assertThat(match(PrefixRequest.builder("chat").namespace("asia")).status())
        .isEqualTo(MatchStatus.UNKNOWN_MODEL);
  }

  @Test
  void rolesFilterWhatPoolsDeclare() {
    attach(
        descriptor(A, WorkerRole.PREFILL, ModelRegistration.base(MODEL)),
        descriptor(B, WorkerRole.DECODE, ModelRegistration.base(MODEL)));
    PrefixMatch prefill = match(PrefixRequest.builder(MODEL).role(WorkerRole.PREFILL));
    assertThat(prefill.pools()).extracting(PoolMatch::poolId).containsExactly(A.poolId());
    PrefixMatch both =
        match(PrefixRequest.builder(MODEL).role(WorkerRole.PREFILL).role(WorkerRole.DECODE));
    assertThat(both.pools()).hasSize(2);
    assertThat(match(PrefixRequest.builder(MODEL).role(WorkerRole.ENCODE)).status())
        .isEqualTo(MatchStatus.NO_CANDIDATE);
  }

  // Adapters.

  private void attachAdapters() {
    BlockSalt salt = BlockSalt.of("runtime-x", null);
    ScriptedFilter filter = new ScriptedFilter(A);
    filter.put(hashes(PROMPT, SEMANTICS, salt));
    relay.serve(filter);
    attach(
        named(
            A,
            ModelRegistration.base(MODEL),
            lora("served-x", MODEL, "runtime-x"),
            lora("served-y", MODEL, "runtime-y")));
  }

  @Test
  void anAdaptersServedNameIsSaltedWithItsRuntimeName() {
    attachAdapters();
    assertThat(match("served-x").pools().get(0).depth()).isEqualTo(8);
    assertThat(match("served-y").pools().get(0).depth()).isZero();
    assertThat(match(MODEL).pools().get(0).depth()).as("the base is not salted").isZero();
  }

  @Test
  void anAdapterMayBeNamedOnItsBaseByEitherName() {
    attachAdapters();
    for (String name : List.of("served-x", "runtime-x")) {
      PrefixMatch match = match(PrefixRequest.builder(MODEL).adapter(name));
      assertThat(match.pools().get(0).depth()).as(name).isEqualTo(8);
      assertThat(match.pools().get(0).registration().canonicalModelId()).isEqualTo("served-x");
    }
    assertThat(match(PrefixRequest.builder(MODEL).adapter("nobody")).status())
        .isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(match(PrefixRequest.builder("served-x").adapter("served-y")).status())
        .as("an adapter on another adapter")
        .isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(match(PrefixRequest.builder("served-x").adapter("served-x")).pools()).hasSize(1);
  }

  @Test
  void aRuntimeNameServedAsTwoThingsIsAmbiguous() {
    attach(
        named(
            A,
            ModelRegistration.base(MODEL),
            lora("one", MODEL, "shared"),
            lora("two", MODEL, "shared")));
    assertThat(match(PrefixRequest.builder(MODEL).adapter("shared")).status())
        .isEqualTo(MatchStatus.AMBIGUOUS_MODEL);
    assertThat(match(PrefixRequest.builder(MODEL).adapter("one")).pools()).hasSize(1);
  }

  // Hashes.

  @Test
  void cacheNamespacesDoNotMatchAcross() {
    ScriptedFilter filter = new ScriptedFilter(A);
    filter.put(hashes(PROMPT, SEMANTICS, BlockSalt.of(null, "tenant-a")));
    relay.serve(filter);
    attach(named(A, ModelRegistration.base(MODEL)));
    assertThat(
            match(PrefixRequest.builder(MODEL).cacheNamespace("tenant-a")).pools().get(0).depth())
        .isEqualTo(8);
    assertThat(
            match(PrefixRequest.builder(MODEL).cacheNamespace("tenant-b")).pools().get(0).depth())
        .isZero();
    assertThat(match(MODEL).pools().get(0).depth()).isZero();
  }

  @Test
  void everyPoolIsHashedByItsOwnSemantics() {
    ScriptedFilter eagle = new ScriptedFilter(C);
    eagle.put(hashes(PROMPT, EAGLE, BlockSalt.NONE));
    relay.serve(filter(A, PROMPT));
    relay.serve(eagle);
    attach(
        named(A, ModelRegistration.base(MODEL)),
        with(EAGLE, named(C, ModelRegistration.base(MODEL))));
    PrefixMatch match = match(MODEL);
    PoolMatch standard = match.pool(A.poolId()).orElseThrow();
    assertThat(standard.queryBlocks()).isEqualTo(8);
    assertThat(standard.depth()).isEqualTo(8);
    PoolMatch other = match.pool(C.poolId()).orElseThrow();
    assertThat(other.queryBlocks()).isEqualTo(15);
    assertThat(other.depth()).isEqualTo(15);
    assertThat(other.depthTokens()).hasValue(30);
    assertThat(rig.view.explain(PrefixRequest.of(MODEL, PROMPT)).hashes()).hasSize(2);
  }

  @Test
  void poolsOfOneTableMayDifferInSemantics() {
    ScriptedFilter eagle = new ScriptedFilter(B);
    eagle.put(hashes(PROMPT, EAGLE, BlockSalt.NONE));
    relay.serve(filter(A, PROMPT));
    relay.serve(eagle);
    attach(
        named(A, ModelRegistration.base(MODEL)),
        with(EAGLE, named(B, ModelRegistration.base(MODEL))));
    assertThat(rig.view.state().tables()).hasSize(1);
    assertThat(match(MODEL).pools()).extracting(PoolMatch::depth).containsExactly(8, 15);
  }

  @Test
  void multimodalObjectsEnterTheHashes() {
    RequestObjects objects = new RequestObjects().add(77, 6, 14);
    ScriptedFilter filter = new ScriptedFilter(A);
    filter.put(new BlockHasher(SEMANTICS).sequenceHashes(PROMPT, BlockSalt.NONE, objects));
    relay.serve(filter);
    attach(named(A, ModelRegistration.base(MODEL)));
    PrefixRequest.Builder request =
        PrefixRequest.builder(MODEL).object(new MultimodalObject(77, 6, 14));
    assertThat(match(request).pools().get(0).depth()).isEqualTo(8);
    assertThat(match(MODEL).pools().get(0).depth()).as("up to the first object").isEqualTo(1);
  }

  @Test
  void localHashesServePoolsOfTheirSemanticsOnly() {
    relay.serve(filter(A, PROMPT));
    attach(
        named(A, ModelRegistration.base(MODEL)),
        with(EAGLE, named(C, ModelRegistration.base(MODEL))));
    long[] locals = new long[8];
    new BlockHasher(SEMANTICS).localHashes(PROMPT, 0, PROMPT.length, BlockSalt.NONE, locals, 0);
    PrefixMatch match =
        rig.view.match(PrefixRequest.builder(MODEL).localHashes(SEMANTICS, locals).build());
    assertThat(match.pool(A.poolId()).orElseThrow().depth()).isEqualTo(8);
    PoolMatch other = match.pool(C.poolId()).orElseThrow();
    assertThat(other.answer()).isEqualTo(PoolAnswer.NO_HASHES);
    assertThat(other.queryBlocks()).isEqualTo(-1);
    PrefixMatch all =
        rig.view.match(PrefixRequest.builder(MODEL).localHashes(null, locals).build());
    assertThat(all.pool(A.poolId()).orElseThrow().depth()).isEqualTo(8);
    assertThat(all.pool(C.poolId()).orElseThrow().queryBlocks()).isEqualTo(8);
  }

  @Test
  void aRangeOfTokensAndHashesIsEnough() {
    relay.serve(filter(A, PROMPT));
    attach(named(A, ModelRegistration.base(MODEL)));
    int[] shifted = new int[PROMPT.length + 10];
    System.arraycopy(PROMPT, 0, shifted, 5, PROMPT.length);
    ViewQuery query = rig.view.newQuery();
    assertThat(query.model(MODEL).tokens(shifted, 5, 5 + 12).run()).isEqualTo(MatchStatus.ANSWERED);
    assertThat(query.depthBlocks(0)).isEqualTo(3);
    long[] locals = new long[20];
    new BlockHasher(SEMANTICS).localHashes(PROMPT, 0, PROMPT.length, BlockSalt.NONE, locals, 7);
    query.clear().model(MODEL).localHashes(null, locals, 7, 12).run();
    assertThat(query.depthBlocks(0)).isEqualTo(5);
    assertThat(query.depthTokens(0)).isEqualTo(20);
  }

  // Readiness.

  private PoolReadiness readiness(String model) {
    return match(model).pools().get(0).readiness();
  }

  private void topology(TopologyEntry... entries) {
    relay.readiness.sendAll(new TopologySnapshot(99, List.of(entries)));
    rig.settle();
  }

  @Test
  void unknownIsNeitherReadyNorUnavailableAndAbsenceIsNotReady() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL));
    attach(pool);
    assertThat(readiness(MODEL)).isEqualTo(PoolReadiness.READY);
    topology(ScriptedRelay.entry(MODEL, ServingState.UNKNOWN, pool));
    assertThat(readiness(MODEL)).isEqualTo(PoolReadiness.UNKNOWN);
  }

  @Test
  void unavailableIsAuthoritativeWhateverIsPublished() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL));
    relay.serve(filter(A, PROMPT));
    attach(pool);
    topology(ScriptedRelay.entry(MODEL, ServingState.UNAVAILABLE, pool));
    assertThat(readiness(MODEL)).isEqualTo(PoolReadiness.UNAVAILABLE);
    assertThat(match(MODEL).pools().get(0).depth()).isEqualTo(8);
  }

  @Test
  void anEntryThatDoesNotCoverThePoolSaysNothingAboutIt() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL));
    attach(pool);
    topology();
    assertThat(readiness(MODEL)).isEqualTo(PoolReadiness.NOT_REPORTED);
    relay.readiness.sendAll(
        new TopologySnapshot(
            100,
            List.of(
                ScriptedRelay.entry(
                    MODEL, ServingState.READY, named(B, ModelRegistration.base(MODEL))))));
    rig.settle();
    assertThat(readiness(MODEL)).as("another endpoint's").isEqualTo(PoolReadiness.NOT_REPORTED);
  }

  @Test
  void anEntryThatIsQuarantinedHereLosesItsOldReadiness() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL));
    attach(pool);
    TopologyMember member = new TopologyMember(pool.servingEndpoint(), pool.roles(), A.poolId());
    topology(
        new TopologyEntry(
            ScriptedRelay.NAMESPACE,
            MODEL,
            ServingState.READY,
            List.of(),
            List.of(),
            List.of(member, member),
            List.of(),
            false,
            List.of()));
    assertThat(readiness(MODEL)).isEqualTo(PoolReadiness.NOT_REPORTED);
    assertThat(rig.view.state().sources().get(0).quarantined()).hasSize(1);
  }

  private void adapters(PoolDescriptor pool, ServingState base, AdapterReadiness... adapters) {
    TopologyMember member = new TopologyMember(pool.servingEndpoint(), pool.roles(), A.poolId());
    topology(
        new TopologyEntry(
            ScriptedRelay.NAMESPACE,
            MODEL,
            base,
            List.of(),
            List.of(),
            List.of(member),
            List.of(),
            false,
            List.of(adapters)));
  }

  @Test
  void anAdapterIsReadyOnlyIfItAndItsBaseAre() {
    PoolDescriptor pool =
        named(A, ModelRegistration.base(MODEL), lora("x", MODEL, "rx"), lora("y", MODEL, "ry"));
    attach(pool);
    assertThat(readiness("x")).isEqualTo(PoolReadiness.NOT_REPORTED);
    AdapterReadiness ready = new AdapterReadiness("x", ServingState.READY, List.of());
    adapters(pool, ServingState.READY, ready);
    assertThat(readiness("x")).isEqualTo(PoolReadiness.READY);
    assertThat(readiness("y")).isEqualTo(PoolReadiness.NOT_REPORTED);
  }

  @Test
  void anAdapterOnAnUnavailableBaseIsUnavailable() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL), lora("x", MODEL, "rx"));
    attach(pool);
    adapters(
        pool, ServingState.UNAVAILABLE, new AdapterReadiness("x", ServingState.READY, List.of()));
    assertThat(readiness("x")).isEqualTo(PoolReadiness.UNAVAILABLE);
  }

  @Test
  void anAdapterOnAnUnknownBaseIsUnknown() {
    PoolDescriptor pool = named(A, ModelRegistration.base(MODEL), lora("x", MODEL, "rx"));
    attach(pool);
    adapters(pool, ServingState.UNKNOWN, new AdapterReadiness("x", ServingState.READY, List.of()));
    assertThat(readiness("x")).isEqualTo(PoolReadiness.UNKNOWN);
  }

  // Load.

  private LoadReading load(PoolLoad... entries) {
    relay.load.sendAll(new LoadSnapshot(List.of(entries)));
    rig.settle();
    return match(MODEL).pools().get(0).load();
  }

  private static PoolLoad entry(OptionalLong used, OptionalLong total, int observed, int expected) {
    return new PoolLoad(A, used, total, observed, expected, expected);
  }

  @Test
  void whatIsNotFullyObservedIsUnknownAndNeverZero() {
    attach(named(A, ModelRegistration.base(MODEL)));
    LoadReading partial = load(entry(OptionalLong.empty(), OptionalLong.of(100), 1, 2));
    assertThat(partial.coverage()).isEqualTo(LoadReading.Coverage.PARTIAL);
    assertThat(partial.usedFraction()).isEmpty();
    assertThat(partial.toString()).isEqualTo("unknown (1/2 ranks)");
    assertThat(load(entry(OptionalLong.of(0), OptionalLong.of(100), 1, 2)).isKnown())
        .as("observed below expected, whatever the numbers say")
        .isFalse();
    assertThat(load(entry(OptionalLong.of(0), OptionalLong.of(0), 2, 2)).isKnown())
        .as("no capacity")
        .isFalse();
    assertThat(load(entry(OptionalLong.of(0), OptionalLong.empty(), 2, 2)).isKnown()).isFalse();
    assertThat(load(entry(OptionalLong.of(0), OptionalLong.of(9), 0, 0)).isKnown())
        .as("nothing expected")
        .isFalse();
    assertThat(load(entry(OptionalLong.of(0), OptionalLong.of(100), 2, 2)).usedFraction())
        .as("zero that was observed is zero")
        .hasValue(0.0);
  }

  @Test
  void aSaturatedSumIsKeptAndUnsigned() {
    attach(named(A, ModelRegistration.base(MODEL)));
    LoadReading reading = load(entry(OptionalLong.of(-1), OptionalLong.of(-1), 2, 2));
    assertThat(reading.usedBlocks()).hasValue(-1);
    assertThat(reading.usedFraction()).hasValue(1.0);
    assertThat(reading.toString()).startsWith("18446744073709551615/18446744073709551615");
  }

  @Test
  void anEmptyWindowIsValidAndAPoolAbsentFromItIsUnknown() {
    attach(named(A, ModelRegistration.base(MODEL)));
    assertThat(load()).isEqualTo(LoadReading.NOT_REPORTED);
  }

  @Test
  void theLoadOfAnotherGenerationIsNotUsed() {
    attach(named(A, ModelRegistration.base(MODEL)));
    assertThat(load(ScriptedRelay.load(producer(1, 1, 9, 2), 1, 2)))
        .isEqualTo(LoadReading.NOT_REPORTED);
    assertThat(rig.count(ViewCounter.LOAD_ENTRIES_OF_OTHER_GENERATION)).isEqualTo(1);
  }

  @Test
  void loadThatArrivesBeforeTheCatalogIsThereOnceThePoolIs() {
    relay.load.answer(new LoadSnapshot(List.of(ScriptedRelay.load(A, 1, 2))));
    rig.attach(relay);
    relay.catalog.sendAll(new PoolCatalog(1, List.of(named(A, ModelRegistration.base(MODEL)))));
    rig.settle();
    assertThat(match(MODEL).pools().get(0).load().usedFraction()).hasValue(0.5);
  }
}
