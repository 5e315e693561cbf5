package io.kvrelay.transport.grpc;

import static io.kvrelay.transport.grpc.Messages.descriptor;
import static io.kvrelay.transport.grpc.Messages.entry;
import static io.kvrelay.transport.grpc.Messages.producer;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.kvrelay.transport.grpc.WireFault.Kind;
import io.kvrelay.transport.grpc.v1.DynamoEndpointId;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.ModelRegistration;
import io.kvrelay.transport.grpc.v1.ModelTarget;
import io.kvrelay.transport.grpc.v1.ProducerIdentity;
import io.kvrelay.transport.grpc.v1.TopologyEntry;
import io.kvrelay.transport.grpc.v1.TopologyMember;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class WireValidatorTest {
  private static final boolean UNSUPPORTED = true;
  private static final boolean MALFORMED = false;

  private static void assertFault(WireFault fault, Kind kind, boolean unsupported) {
    assertThat(fault).isNotNull();
    assertThat(fault.kind()).as(fault.describe()).isEqualTo(kind);
    assertThat(fault.unsupported()).as(fault.describe()).isEqualTo(unsupported);
  }

  @Test
  void theEnvelopeIsMarkerThenVersion() {
    assertThat(WireValidator.envelope(0x4B565231, 1)).isNull();
    assertFault(WireValidator.envelope(0x4B565232, 2), Kind.CONTRACT_MARKER, MALFORMED);
    assertFault(WireValidator.envelope(0x4B565231, 2), Kind.PROTOCOL_VERSION, MALFORMED);
    assertFault(WireValidator.envelope(0x4B565231, 0), Kind.PROTOCOL_VERSION, MALFORMED);
  }

  @Test
  void validMessagesHaveNoFault() {
    assertThat(WireValidator.producer(producer(p -> {}))).isNull();
    assertThat(WireValidator.descriptor(descriptor(d -> {}))).isNull();
    assertThat(WireValidator.topologyEntry(entry(e -> {}))).isNull();
  }

  // ---- Producer: each rule, and that the rules before it win ----

  private static Arguments p(
      Kind kind, boolean unsupported, Consumer<ProducerIdentity.Builder> change) {
    return Arguments.of(kind, unsupported, change);
  }

  private static Consumer<ProducerIdentity.Builder> pool(Consumer<KvPoolId.Builder> change) {
    return p -> change.accept(p.getPoolIdBuilder());
  }

  /** In the contract's order of evaluation. */
  static List<Arguments> producerRules() {
    return List.of(
        p(Kind.MISSING_FIELD, MALFORMED, ProducerIdentity.Builder::clearPoolId),
        p(Kind.POOL_IDENTITY_VERSION, MALFORMED, pool(id -> id.setIdentityVersion(0))),
        p(Kind.POOL_IDENTITY_VERSION, UNSUPPORTED, pool(id -> id.setIdentityVersion(2))),
        p(Kind.POOL_IDENTITY_VERSION, UNSUPPORTED, pool(id -> id.setIdentityVersion(-1))),
        p(Kind.MISSING_FIELD, MALFORMED, pool(KvPoolId.Builder::clearIndexerDomain)),
        p(
            Kind.MISSING_FIELD,
            MALFORMED,
            pool(id -> id.getIndexerDomainBuilder().clearCacheSemantics())),
        p(
            Kind.DIGEST_LENGTH,
            MALFORMED,
            pool(
                id ->
                    id.getIndexerDomainBuilder()
                        .getCacheSemanticsBuilder()
                        .setDigest(ByteString.copyFrom(new byte[15])))),
        p(
            Kind.IDENTITY_SOURCE,
            MALFORMED,
            pool(id -> id.getIndexerDomainBuilder().getCacheSemanticsBuilder().setSourceValue(0))),
        p(
            Kind.IDENTITY_SOURCE,
            UNSUPPORTED,
            pool(id -> id.getIndexerDomainBuilder().getCacheSemanticsBuilder().setSourceValue(99))),
        p(
            Kind.IDENTITY_SOURCE,
            UNSUPPORTED,
            pool(id -> id.getIndexerDomainBuilder().getCacheSemanticsBuilder().setSourceValue(-1))),
        p(
            Kind.MISSING_FIELD,
            MALFORMED,
            pool(id -> id.getIndexerDomainBuilder().clearRoutingScope())),
        p(
            Kind.DIGEST_LENGTH,
            MALFORMED,
            pool(
                id ->
                    id.getIndexerDomainBuilder()
                        .getRoutingScopeBuilder()
                        .setDigest(ByteString.copyFrom(new byte[17])))),
        p(
            Kind.IDENTITY_SOURCE,
            UNSUPPORTED,
            pool(id -> id.getIndexerDomainBuilder().getRoutingScopeBuilder().setSourceValue(3))),
        p(Kind.ZERO_LAYOUT_GENERATION, MALFORMED, p -> p.setLayoutGeneration(0)),
        p(Kind.MISSING_FIELD, MALFORMED, ProducerIdentity.Builder::clearCkfFormat),
        p(Kind.ZERO_FORMAT_FIELD, MALFORMED, p -> p.getCkfFormatBuilder().setFormatVersion(0)),
        p(Kind.ZERO_FORMAT_FIELD, MALFORMED, p -> p.getCkfFormatBuilder().setBucketCount(0)),
        p(Kind.ZERO_FORMAT_FIELD, MALFORMED, p -> p.getCkfFormatBuilder().setFingerprintBits(0)),
        p(Kind.ZERO_FORMAT_FIELD, MALFORMED, p -> p.getCkfFormatBuilder().setSlotsPerBucket(0)),
        p(
            Kind.UNSUPPORTED_CKF_FORMAT,
            UNSUPPORTED,
            p -> p.getCkfFormatBuilder().setFormatVersion(65537)),
        p(
            Kind.UNSUPPORTED_CKF_FORMAT,
            UNSUPPORTED,
            p -> p.getCkfFormatBuilder().setFingerprintBits(272)),
        p(
            Kind.UNSUPPORTED_CKF_FORMAT,
            UNSUPPORTED,
            p -> p.getCkfFormatBuilder().setSlotsPerBucket(8)),
        p(
            Kind.BUCKET_COUNT_TOO_LARGE,
            UNSUPPORTED,
            p -> p.getCkfFormatBuilder().setBucketCount(1L << 25)),
        p(
            Kind.UNSUPPORTED_BUCKET_COUNT,
            MALFORMED,
            p -> p.getCkfFormatBuilder().setBucketCount(3)));
  }

  @ParameterizedTest
  @MethodSource("producerRules")
  void eachProducerRule(Kind kind, boolean unsupported, Consumer<ProducerIdentity.Builder> change) {
    assertFault(WireValidator.producer(producer(change)), kind, unsupported);
  }

  @Test
  void theEarlierProducerRuleWins() {
    List<Arguments> rules = producerRules();
    for (int first = 0; first < rules.size(); first++) {
      for (int second = first + 1; second < rules.size(); second++) {
        Object[] early = rules.get(first).get();
        Object[] late = rules.get(second).get();
        ProducerIdentity broken =
            producer(
                p -> {
                  // The later one first: an early rule may remove what a later one changes.
                  change(late).accept(p);
                  change(early).accept(p);
                });
        if (change(late, early).equals(change(early, late))) {
          assertFault(WireValidator.producer(broken), (Kind) early[0], (Boolean) early[1]);
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static Consumer<ProducerIdentity.Builder> change(Object[] rule) {
    return (Consumer<ProducerIdentity.Builder>) rule[2];
  }

  /** Both changes in the order given: unequal for two rules about one field. */
  private static ProducerIdentity change(Object[] one, Object[] other) {
    return producer(
        p -> {
          change(one).accept(p);
          change(other).accept(p);
        });
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 3, 6, (1 << 24) - 1})
  void bucketCountsMustBePowersOfTwoFromTwo(long buckets) {
    assertFault(
        WireValidator.producer(producer(p -> p.getCkfFormatBuilder().setBucketCount(buckets))),
        Kind.UNSUPPORTED_BUCKET_COUNT,
        MALFORMED);
  }

  @ParameterizedTest
  @ValueSource(longs = {(1 << 24) + 1, 1L << 32, Long.MIN_VALUE, -1})
  void bucketCountsAreUnsigned(long buckets) {
    assertFault(
        WireValidator.producer(producer(p -> p.getCkfFormatBuilder().setBucketCount(buckets))),
        Kind.BUCKET_COUNT_TOO_LARGE,
        UNSUPPORTED);
  }

  @Test
  void freeValuesAreFree() {
    for (long any : new long[] {0, 1, -1, Long.MIN_VALUE}) {
      assertThat(
              WireValidator.producer(
                  producer(
                      p -> {
                        p.getPoolIdBuilder().setDcId(any);
                        p.setProducerIncarnation(any);
                        p.getCkfFormatBuilder().setSeed(any);
                      })))
          .isNull();
    }
  }

  @Test
  void addedFieldsAreIgnored() {
    ProducerIdentity added =
        producer(
            p -> {
              p.setUnknownFields(Messages.ADDED);
              p.getPoolIdBuilder().setUnknownFields(Messages.ADDED);
            });
    assertThat(WireValidator.producer(added)).isNull();
    assertThat(KvRelayWire.fromWire(added)).isEqualTo(KvRelayWire.fromWire(producer(p -> {})));
  }

  // ---- Descriptor ----

  private static Arguments d(
      Kind kind, boolean unsupported, Consumer<KvPoolDescriptor.Builder> change) {
    return Arguments.of(kind, unsupported, change);
  }

  private static Consumer<KvPoolDescriptor.Builder> registration(
      Consumer<ModelRegistration.Builder> change) {
    return d -> change.accept(d.getRegistrationsBuilder(0));
  }

  static List<Arguments> descriptorRules() {
    return List.of(
        d(Kind.MISSING_FIELD, MALFORMED, KvPoolDescriptor.Builder::clearProducer),
        d(
            Kind.ZERO_LAYOUT_GENERATION,
            MALFORMED,
            d -> d.getProducerBuilder().setLayoutGeneration(0)),
        d(Kind.MISSING_FIELD, MALFORMED, KvPoolDescriptor.Builder::clearServingEndpoint),
        d(Kind.INVALID_TEXT, MALFORMED, d -> d.getServingEndpointBuilder().setNamespace("")),
        d(Kind.INVALID_TEXT, MALFORMED, d -> d.getServingEndpointBuilder().setComponent(" a")),
        d(Kind.INVALID_TEXT, MALFORMED, d -> d.getServingEndpointBuilder().setEndpoint("a\u2007")),
        d(Kind.MISSING_FIELD, MALFORMED, KvPoolDescriptor.Builder::clearQuerySemantics),
        d(
            Kind.ZERO_QUERY_BLOCK_SIZE,
            MALFORMED,
            d -> d.getQuerySemanticsBuilder().setKvBlockSize(0)),
        d(
            Kind.QUERY_HASH_FORMAT,
            MALFORMED,
            d -> d.getQuerySemanticsBuilder().setHashFormatValue(0)),
        d(
            Kind.QUERY_HASH_FORMAT,
            UNSUPPORTED,
            d -> d.getQuerySemanticsBuilder().setHashFormatValue(99)),
        d(
            Kind.QUERY_HASH_FORMAT,
            UNSUPPORTED,
            d -> d.getQuerySemanticsBuilder().setHashFormatValue(-1)),
        d(Kind.INVALID_TEXT, MALFORMED, registration(r -> r.setCanonicalModelId("\u0085x"))),
        d(Kind.MISSING_FIELD, MALFORMED, registration(ModelRegistration.Builder::clearTarget)),
        d(
            Kind.UNSUPPORTED_MODEL_TARGET,
            UNSUPPORTED,
            registration(r -> r.setTarget(ModelTarget.getDefaultInstance()))),
        d(
            Kind.INVALID_TEXT,
            MALFORMED,
            registration(r -> r.getTargetBuilder().getBaseBuilder().setBaseModel(""))),
        d(
            Kind.INVALID_TEXT,
            MALFORMED,
            registration(
                r -> r.getTargetBuilder().getLoraBuilder().setBaseModel("base").setAdapter("\t"))),
        d(Kind.DUPLICATE_ALIAS, MALFORMED, registration(r -> r.addAliases("chat"))),
        d(Kind.INVALID_TEXT, MALFORMED, registration(r -> r.addAliases(" chat"))),
        d(Kind.MISSING_WORKER_ROLES, MALFORMED, KvPoolDescriptor.Builder::clearPoolRoles),
        d(Kind.WORKER_ROLE, MALFORMED, d -> d.addPoolRolesValue(0)),
        d(Kind.WORKER_ROLE, UNSUPPORTED, d -> d.addPoolRolesValue(99)),
        d(Kind.WORKER_ROLE, UNSUPPORTED, d -> d.addPoolRolesValue(-1)),
        d(Kind.DUPLICATE_WORKER_ROLE, MALFORMED, d -> d.addPoolRolesValue(1)));
  }

  @ParameterizedTest
  @MethodSource("descriptorRules")
  void eachDescriptorRule(
      Kind kind, boolean unsupported, Consumer<KvPoolDescriptor.Builder> change) {
    assertFault(WireValidator.descriptor(descriptor(change)), kind, unsupported);
  }

  @Test
  void semanticsComeBeforeRegistrationsAndThoseBeforeRoles() {
    Consumer<KvPoolDescriptor.Builder> noRoles = KvPoolDescriptor.Builder::clearPoolRoles;
    Consumer<KvPoolDescriptor.Builder> noTarget =
        registration(r -> r.setTarget(ModelTarget.getDefaultInstance()));
    Consumer<KvPoolDescriptor.Builder> noBlocks =
        d -> d.getQuerySemanticsBuilder().setKvBlockSize(0);
    assertFault(
        WireValidator.descriptor(descriptor(noRoles.andThen(noTarget).andThen(noBlocks))),
        Kind.ZERO_QUERY_BLOCK_SIZE,
        MALFORMED);
    assertFault(
        WireValidator.descriptor(descriptor(noRoles.andThen(noTarget))),
        Kind.UNSUPPORTED_MODEL_TARGET,
        UNSUPPORTED);
  }

  @Test
  void aPoolWithoutRegistrationsIsValid() {
    assertThat(WireValidator.descriptor(descriptor(KvPoolDescriptor.Builder::clearRegistrations)))
        .isNull();
  }

  // ---- Topology ----

  private static Arguments e(
      Kind kind, boolean unsupported, Consumer<TopologyEntry.Builder> change) {
    return Arguments.of(kind, unsupported, change);
  }

  private static Consumer<TopologyEntry.Builder> member(Consumer<TopologyMember.Builder> change) {
    return e -> change.accept(e.getMembersBuilder(0));
  }

  static List<Arguments> topologyRules() {
    return List.of(
        e(Kind.INVALID_TEXT, MALFORMED, TopologyEntry.Builder::clearNamespace),
        e(Kind.INVALID_TEXT, MALFORMED, e -> e.setCanonicalModelId("x ")),
        e(Kind.READINESS_STATE, UNSUPPORTED, e -> e.setStateValue(99)),
        e(Kind.READINESS_STATE, UNSUPPORTED, e -> e.setStateValue(-1)),
        e(Kind.WORKER_ROLE, MALFORMED, e -> e.addPresentRolesValue(0)),
        e(Kind.DUPLICATE_WORKER_ROLE, MALFORMED, e -> e.addPresentRolesValue(1)),
        e(Kind.WORKER_ROLE, UNSUPPORTED, e -> e.addMissingRolesValue(6)),
        e(Kind.WORKER_ROLE, UNSUPPORTED, e -> e.addDuplicateRoleEndpointsValue(6)),
        e(
            Kind.UNSUPPORTED_DUPLICATE_ENDPOINT_ROLE,
            MALFORMED,
            e -> e.addDuplicateRoleEndpointsValue(3)),
        e(Kind.MISSING_TOPOLOGY_MEMBER, MALFORMED, TopologyEntry.Builder::clearMembers),
        e(Kind.MISSING_FIELD, MALFORMED, member(TopologyMember.Builder::clearEndpoint)),
        e(Kind.INVALID_TEXT, MALFORMED, member(m -> m.getEndpointBuilder().setComponent("\u00a0"))),
        e(
            Kind.NAMESPACE_MISMATCH,
            MALFORMED,
            member(m -> m.getEndpointBuilder().setNamespace("other"))),
        e(Kind.MISSING_WORKER_ROLES, MALFORMED, member(TopologyMember.Builder::clearRoles)),
        e(Kind.WORKER_ROLE, UNSUPPORTED, member(m -> m.addRolesValue(7))),
        e(
            Kind.POOL_IDENTITY_VERSION,
            UNSUPPORTED,
            member(m -> m.getPoolIdBuilder().setIdentityVersion(2))),
        e(
            Kind.DUPLICATE_TOPOLOGY_MEMBER,
            MALFORMED,
            e -> e.addMembers(e.getMembers(0).toBuilder().clearPoolId())),
        e(Kind.INVALID_TEXT, MALFORMED, e -> e.getAdaptersBuilder(0).setCanonicalModelId("")),
        e(Kind.READINESS_STATE, UNSUPPORTED, e -> e.getAdaptersBuilder(1).setStateValue(3)),
        e(Kind.WORKER_ROLE, UNSUPPORTED, e -> e.getAdaptersBuilder(1).addMissingRolesValue(9)),
        e(
            Kind.DUPLICATE_ADAPTER,
            MALFORMED,
            e -> e.getAdaptersBuilder(1).setCanonicalModelId("x")));
  }

  @ParameterizedTest
  @MethodSource("topologyRules")
  void eachTopologyRule(Kind kind, boolean unsupported, Consumer<TopologyEntry.Builder> change) {
    assertFault(WireValidator.topologyEntry(entry(change)), kind, unsupported);
  }

  @Test
  void theEarlierTopologyRuleWins() {
    List<Arguments> rules = new ArrayList<>(topologyRules());
    // Rules that follow each other on different fields: start with the last, break more and more.
    Consumer<TopologyEntry.Builder> all = e -> {};
    for (int rule : new int[] {20, 11, 8, 6, 5, 2, 0}) {
      Object[] next = rules.get(rule).get();
      @SuppressWarnings("unchecked")
      Consumer<TopologyEntry.Builder> change = (Consumer<TopologyEntry.Builder>) next[2];
      all = all.andThen(change);
      assertFault(WireValidator.topologyEntry(entry(all)), (Kind) next[0], (Boolean) next[1]);
    }
  }

  @Test
  void endpointsAreComparedAsTuples() {
    // a.b + c and a + b.c read alike with dots; richEntry holds both.
    assertThat(
            entry(e -> {}).getMembersList().stream()
                .map(TopologyMember::getEndpoint)
                .map(id -> id.getComponent() + "." + id.getEndpoint())
                .distinct())
        .hasSize(1);
    assertThat(WireValidator.topologyEntry(entry(e -> {}))).isNull();
  }

  @Test
  void unknownIsAStateAndEmptyRoleListsAreFine() {
    assertThat(
            WireValidator.topologyEntry(
                entry(
                    e ->
                        e.setStateValue(0)
                            .clearPresentRoles()
                            .clearMissingRoles()
                            .clearAdapters())))
        .isNull();
  }

  static Stream<String> texts() {
    return Stream.of("", " a", "a ", "\ta", "a\u0085", "\u00a0a", "a\u2007", "\u202fa", "a\u3000");
  }

  @ParameterizedTest
  @MethodSource("texts")
  void textIsNotEmptyAndNotSurroundedByWhiteSpace(String text) {
    DynamoEndpointId bad =
        DynamoEndpointId.newBuilder()
            .setNamespace("ns")
            .setComponent(text)
            .setEndpoint("e")
            .build();
    assertFault(
        WireValidator.descriptor(descriptor(d -> d.setServingEndpoint(bad))),
        Kind.INVALID_TEXT,
        MALFORMED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a b", "\u001fa", "a\u001c", "\u200b"})
  void otherTextIsKept(String text) {
    assertThat(
            WireValidator.descriptor(
                descriptor(d -> d.getServingEndpointBuilder().setComponent(text))))
        .isNull();
  }

  @Test
  void aFaultNamesFieldAndValue() {
    WireFault fault =
        WireValidator.descriptor(
            descriptor(d -> d.getProducerBuilder().getCkfFormatBuilder().setBucketCount(3)));
    assertThat(fault.describe())
        .isEqualTo("producer.ckf_format.bucket_count = 3: malformed (UNSUPPORTED_BUCKET_COUNT)");
    assertThat(
            WireValidator.descriptor(
                    descriptor(
                        d ->
                            d.getRegistrationsBuilder(1)
                                .setTarget(ModelTarget.getDefaultInstance())))
                .field())
        .isEqualTo("registrations[1].target.target");
  }
}
