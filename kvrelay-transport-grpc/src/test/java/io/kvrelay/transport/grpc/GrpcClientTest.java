package io.kvrelay.transport.grpc;

import static io.kvrelay.transport.grpc.Loopback.POOL;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ProbeSubscriber;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogSnapshot;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.KvPoolLoadEntry;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.ModelTarget;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import io.kvrelay.transport.grpc.v1.ServingReadinessUpdate;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolRequest;
import io.kvrelay.transport.grpc.v1.TopologyEntry;
import io.kvrelay.transport.grpc.v1.WatchKvPoolCatalogRequest;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The client against servers that do as they like. */
@Timeout(60)
class GrpcClientTest {
  private static final io.kvrelay.transport.grpc.v1.RelayIdentity OTHER =
      KvRelayWire.toWire(new RelayIdentity(0x11, 0x18));

  private final Loopback loopback = new Loopback();
  private FakeServer server;

  @BeforeEach
  void open() throws Exception {
    server = loopback.closing(new FakeServer());
  }

  @AfterEach
  void close() throws Exception {
    loopback.close();
  }

  private static void assertReason(RelayException failure, RelayErrorReason reason) {
    assertThat(failure.reason()).as(failure.toString()).isEqualTo(reason);
    assertThat(failure.action()).isEqualTo(reason.action());
  }

  // ---- Connecting ----

  static Stream<Arguments> badInfos() {
    return Stream.of(
        Arguments.of(info(i -> i.setContractMarker(0)), RelayErrorReason.CONTRACT_MISMATCH),
        Arguments.of(info(i -> i.setProtocolVersion(2)), RelayErrorReason.CONTRACT_MISMATCH),
        Arguments.of(info(RelayInfo.Builder::clearRelay), RelayErrorReason.PROTOCOL_VIOLATION),
        Arguments.of(new byte[] {0x12, 0x7f}, RelayErrorReason.PROTOCOL_VIOLATION));
  }

  private static byte[] info(Consumer<RelayInfo.Builder> change) {
    RelayInfo.Builder info = FakeServer.info().toBuilder();
    change.accept(info);
    return info.build().toByteArray();
  }

  @ParameterizedTest
  @MethodSource("badInfos")
  void aRelayThatIntroducesItselfWronglyIsNotConnectedTo(byte[] info, RelayErrorReason reason) {
    server.answer("GetRelayInfo", peer -> peer.send(info).close(Status.OK, null));
    assertReason(loopback.connectFailure(server.address()), reason);
  }

  @Test
  void refusalsWhileConnectingKeepTheirReason() {
    server.answer(
        "GetRelayInfo",
        peer -> peer.close(Status.FAILED_PRECONDITION, "RELAY_ERROR_REASON_CONTRACT_MISMATCH"));
    assertReason(loopback.connectFailure(server.address()), RelayErrorReason.CONTRACT_MISMATCH);
    server.answer("GetRelayInfo", peer -> peer.send(FakeServer.info()).close(Status.OK, null));
    server.answer(
        "WatchKvPoolCatalog",
        peer -> peer.close(Status.RESOURCE_EXHAUSTED, "RELAY_ERROR_REASON_RESOURCE_LIMIT"));
    assertReason(loopback.connectFailure(server.address()), RelayErrorReason.RESOURCE_LIMIT);
  }

  @Test
  void aServerWithoutTheServiceStopsRetries() {
    server.answer("GetRelayInfo", peer -> peer.close(Status.UNIMPLEMENTED, null));
    RelayException failure = loopback.connectFailure(server.address());
    assertThat(failure.reason()).isEqualTo(RelayErrorReason.UNSPECIFIED);
    assertThat(failure.action()).isEqualTo(RecoveryAction.STOP);
  }

  @Test
  void infoAndCatalogOfTwoRelaysDoNotMix() {
    server.answer(
        "WatchKvPoolCatalog", peer -> peer.send(FakeServer.catalog().setRelay(OTHER).build()));
    assertReason(
        loopback.connectFailure(server.address()), RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }

  @Test
  void silenceEndsWithTheTimeout() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      CompletableFuture<?> attempt =
          new GrpcTransport()
              .connect(
                  URI.create("grpc://127.0.0.1:" + silent.getLocalPort()),
                  loopback.connectOptions().withConnectTimeout(Duration.ofMillis(50)))
              .toCompletableFuture();
      Throwable failure = attempt.handle((ok, e) -> e).orTimeout(5, TimeUnit.SECONDS).join();
      assertReason((RelayException) failure, RelayErrorReason.ADDRESS_UNAVAILABLE);
    }
  }

  @Test
  void portZeroIsNoAddress() {
    assertReason(
        loopback.connectFailure(URI.create("grpc://127.0.0.1:0")),
        RelayErrorReason.INVALID_CONFIGURATION);
  }

  @Test
  void theChannelHookIsUsed() {
    GrpcConnectedSource remote =
        loopback.connect(
            server.address(),
            GrpcTransport.withChannelBuilder(
                loopback.connectOptions(), builder -> builder.userAgent("hooked")));
    assertThat(remote.relayIdentity()).isEqualTo(Loopback.RELAY);
  }

  // ---- Requests ----

  @Test
  void requestsCarryMarkerLabelAndProducer() throws Exception {
    CompletableFuture<byte[]> watch = new CompletableFuture<>();
    CompletableFuture<byte[]> pool = new CompletableFuture<>();
    server.answer(
        "WatchKvPoolCatalog",
        peer -> {
          watch.complete(peer.request);
          peer.send(FakeServer.catalog().build());
        });
    server.answer("SubscribeKvPool", peer -> pool.complete(peer.request));
    GrpcConnectedSource remote =
        loopback.connect(server.address(), loopback.connectOptions().withSubscriberId("router-1"));
    ProbeSubscriber.to(remote.pool(POOL));
    WatchKvPoolCatalogRequest first =
        WatchKvPoolCatalogRequest.parseFrom(watch.get(5, TimeUnit.SECONDS));
    assertThat(first.getContractMarker()).isEqualTo(KvRelayWire.CONTRACT_MARKER);
    assertThat(first.getSubscriberId()).isEqualTo("router-1");
    SubscribeKvPoolRequest second = SubscribeKvPoolRequest.parseFrom(pool.get(5, TimeUnit.SECONDS));
    assertThat(second.getContractMarker()).isEqualTo(KvRelayWire.CONTRACT_MARKER);
    assertThat(second.getExpectedProducer()).isEqualTo(KvRelayWire.toWire(POOL));
  }

  // ---- Pool streams ----

  private static FilterUpdate update(Consumer<FilterUpdate.Builder> change) {
    FilterUpdate.Builder update =
        KvRelayWire.toWire(Loopback.RELAY, Fixtures.snapshot(POOL, 5).get(0)).toBuilder();
    change.accept(update);
    return update.build();
  }

  static Stream<Arguments> badUpdates() {
    RelayErrorReason violation = RelayErrorReason.PROTOCOL_VIOLATION;
    return Stream.of(
        bad("marker", RelayErrorReason.CONTRACT_MISMATCH, u -> u.setContractMarker(1)),
        bad("version", RelayErrorReason.CONTRACT_MISMATCH, u -> u.setProtocolVersion(0)),
        bad("no producer", violation, FilterUpdate.Builder::clearProducer),
        bad("generation", violation, u -> u.getProducerBuilder().setLayoutGeneration(2)),
        bad("invalid producer", violation, u -> u.getProducerBuilder().clearPoolId()),
        bad("no relay", violation, FilterUpdate.Builder::clearRelay),
        bad("relay", RelayErrorReason.PUBLICATION_UNAVAILABLE, u -> u.setRelay(OTHER)),
        bad("kind 0", violation, u -> u.setKindValue(0)),
        bad("kind 99", violation, u -> u.setKindValue(99)),
        bad("chunk base", violation, u -> u.setBaseSequence(4)),
        bad("delta base", violation, u -> u.setKindValue(2)),
        bad("delta to 0", violation, u -> u.setKindValue(2).setBaseSequence(-1).setSequence(0)),
        bad("heartbeat payload", violation, u -> u.setKindValue(3)),
        bad("heartbeat base", violation, u -> u.setKindValue(3).clearPayload().setBaseSequence(4)));
  }

  private static Arguments bad(
      String name, RelayErrorReason reason, Consumer<FilterUpdate.Builder> change) {
    return Arguments.of(name, reason, update(change));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("badUpdates")
  void nothingOfABadUpdateReachesTheSubscriber(
      String name, RelayErrorReason reason, FilterUpdate bad) {
    server.answer("SubscribeKvPool", peer -> peer.send(bad));
    GrpcConnectedSource remote = loopback.connect(server.address());
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(remote.pool(POOL));
    assertReason(probe.failure(), reason);
    assertThat(probe.waiting()).as(name).isZero();
    // Another relay's answer breaks no rule; it only is not the one we are connected to.
    long refused = reason == RelayErrorReason.PUBLICATION_UNAVAILABLE ? 0 : 1;
    assertThat(remote.statistics().refusedMessages()).isEqualTo(refused);
    probe.assertRulesKept();
  }

  @Test
  void theRelayMustNotChangeWithinAStream() {
    server.answer(
        "SubscribeKvPool", peer -> peer.send(update(u -> {})).send(update(u -> u.setRelay(OTHER))));
    GrpcConnectedSource remote = loopback.connect(server.address());
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(remote.pool(POOL));
    assertThat(probe.next().sequence()).isEqualTo(5);
    assertReason(probe.failure(), RelayErrorReason.PROTOCOL_VIOLATION);
    assertThat(remote.shutdown().toCompletableFuture()).isNotDone();
  }

  @Test
  void anotherRelayOnANewStreamEndsTheWholeConnection() {
    GrpcConnectedSource remote = loopback.connect(server.address());
    ProbeSubscriber<PoolCatalog> running = ProbeSubscriber.toAllOf(remote.catalog());
    running.next();
    server.answer("SubscribeKvPool", peer -> peer.send(update(u -> u.setRelay(OTHER))));
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(remote.pool(POOL));
    assertReason(probe.failure(), RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertReason(running.failure(), RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(remote.shutdown().toCompletableFuture()).isDone();
    assertReason(
        ProbeSubscriber.toAllOf(remote.readiness()).failure(),
        RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }

  @Test
  void fieldsOfNewerVersionsDoNotMatter() {
    server.answer(
        "SubscribeKvPool",
        peer ->
            peer.send(
                update(
                    u -> {
                      u.setUnknownFields(Messages.ADDED);
                      u.getProducerBuilder().setUnknownFields(Messages.ADDED);
                      u.getRelayBuilder().setUnknownFields(Messages.ADDED);
                    })));
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(loopback.connect(server.address()).pool(POOL));
    assertThat(probe.next().producer()).isEqualTo(POOL);
  }

  @Test
  void bytesThatAreNoMessageEndTheirStream() {
    server.answer("SubscribeKvPool", peer -> peer.send(new byte[] {0x1a, 0x7f, 0}));
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(loopback.connect(server.address()).pool(POOL));
    assertReason(probe.failure(), RelayErrorReason.PROTOCOL_VIOLATION);
  }

  @Test
  void messagesBeyondTheReceiveLimitEndTheirStream() {
    server.answer("SubscribeKvPool", peer -> peer.send(new byte[(8 << 20) + 1]));
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(loopback.connect(server.address()).pool(POOL));
    RelayException failure = probe.failure();
    assertThat(failure.reason()).isEqualTo(RelayErrorReason.UNSPECIFIED);
    assertThat(failure.action()).isEqualTo(RecoveryAction.RETRY_WITH_BACKOFF);
  }

  @Test
  void aMessageAtTheReceiveLimitPasses() {
    int overhead = update(u -> u.setPayload(ByteString.EMPTY)).getSerializedSize() + 5;
    FilterUpdate largest =
        update(u -> u.setPayload(ByteString.copyFrom(new byte[(8 << 20) - overhead])));
    assertThat(largest.getSerializedSize()).isEqualTo(8 << 20);
    server.answer("SubscribeKvPool", peer -> peer.send(largest));
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(loopback.connect(server.address()).pool(POOL));
    assertThat(probe.next().payloadBytes()).isEqualTo((8 << 20) - overhead);
  }

  @ParameterizedTest
  @CsvSource({
    "OK, , PUBLICATION_UNAVAILABLE, RETRY_WITH_BACKOFF",
    "UNAVAILABLE, , PUBLICATION_UNAVAILABLE, RETRY_WITH_BACKOFF",
    "FAILED_PRECONDITION, , UNSPECIFIED, REFRESH_CATALOG",
    "FAILED_PRECONDITION, RELAY_ERROR_REASON_X, UNSPECIFIED, REFRESH_CATALOG",
    "FAILED_PRECONDITION, RELAY_ERROR_REASON_INVALID_PUBLICATION, INVALID_PUBLICATION, "
        + "ABANDON_GENERATION",
    "UNKNOWN, RELAY_ERROR_REASON_PRODUCER_CHANGED, PRODUCER_CHANGED, REFRESH_CATALOG"
  })
  void anEndIsALossAndItsReasonIsInTheTrailer(
      Status.Code code, String trailer, RelayErrorReason reason, RecoveryAction action) {
    server.answer(
        "SubscribeKvPool",
        peer -> peer.send(update(u -> {})).close(Status.fromCode(code), trailer));
    GrpcConnectedSource remote = loopback.connect(server.address());
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(remote.pool(POOL));
    probe.next();
    RelayException failure = probe.failure();
    assertThat(failure.reason()).isEqualTo(reason);
    assertThat(failure.action()).isEqualTo(action);
    assertThat(remote.statistics().endedStreams()).isEqualTo(1);
    assertThat(remote.statistics().openStreams()).isZero();
  }

  // ---- Quarantine ----

  private PoolCatalog catalogOf(KvPoolDescriptor... pools) {
    server.answer(
        "WatchKvPoolCatalog",
        peer ->
            peer.send(
                FakeServer.catalog()
                    .setRevision(3)
                    .setSnapshot(KvPoolCatalogSnapshot.newBuilder().addAllPools(List.of(pools)))
                    .build()));
    return ProbeSubscriber.to(loopback.connect(server.address()).catalog()).ask();
  }

  private static KvPoolDescriptor descriptor(int b, Consumer<KvPoolDescriptor.Builder> change) {
    KvPoolDescriptor.Builder pool =
        KvRelayWire.toWire(Fixtures.descriptor(Fixtures.producer(Fixtures.pool(b), 1, 16)))
            .toBuilder();
    change.accept(pool);
    return pool.build();
  }

  static Stream<Arguments> quarantinedPools() {
    PoolId id = Fixtures.pool(0x31);
    return Stream.of(
        pool("hash format", id, true, p -> p.getQuerySemanticsBuilder().setHashFormatValue(9)),
        pool("role", id, true, p -> p.addPoolRolesValue(9)),
        pool(
            "target",
            id,
            true,
            p -> p.getRegistrationsBuilder(0).setTarget(ModelTarget.getDefaultInstance())),
        pool(
            "filter format",
            id,
            true,
            p -> p.getProducerBuilder().getCkfFormatBuilder().setFormatVersion(2)),
        pool(
            "identity version",
            null,
            true,
            p -> p.getProducerBuilder().getPoolIdBuilder().setIdentityVersion(2)),
        pool(
            "identity source",
            null,
            true,
            p ->
                p.getProducerBuilder()
                    .getPoolIdBuilder()
                    .getIndexerDomainBuilder()
                    .getRoutingScopeBuilder()
                    .setSourceValue(9)),
        pool("block size", id, false, p -> p.getQuerySemanticsBuilder().setKvBlockSize(0)),
        pool("generation", id, false, p -> p.getProducerBuilder().setLayoutGeneration(0)),
        pool("no endpoint", id, false, KvPoolDescriptor.Builder::clearServingEndpoint),
        pool("no roles", id, false, KvPoolDescriptor.Builder::clearPoolRoles));
  }

  private static Arguments pool(
      String name, PoolId id, boolean unsupported, Consumer<KvPoolDescriptor.Builder> change) {
    return Arguments.of(name, id, unsupported, change);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("quarantinedPools")
  void anUnusablePoolIsQuarantinedAndItsNeighboursStay(
      String name, PoolId id, boolean unsupported, Consumer<KvPoolDescriptor.Builder> change) {
    PoolCatalog catalog =
        catalogOf(descriptor(0x11, p -> {}), descriptor(0x31, change), descriptor(0x41, p -> {}));
    assertThat(catalog.revision()).isEqualTo(3);
    assertThat(catalog.pools()).hasSize(2);
    assertThat(catalog.quarantined()).hasSize(1);
    assertThat(catalog.quarantined().get(0).poolId()).isEqualTo(id);
    assertThat(catalog.quarantined().get(0).unsupported()).as(name).isEqualTo(unsupported);
    assertThat(catalog.quarantined().get(0).detail()).startsWith("snapshot.pools[1].");
  }

  static Stream<Arguments> ambiguousCatalogs() {
    return Stream.of(
        Arguments.of("twice", List.of(descriptor(0x11, p -> {}), descriptor(0x11, p -> {}))),
        Arguments.of(
            "twice, one of them unusable",
            List.of(descriptor(0x11, p -> {}), descriptor(0x11, p -> p.addPoolRolesValue(9)))),
        Arguments.of(
            "no producer", List.of(descriptor(0x11, KvPoolDescriptor.Builder::clearProducer))),
        Arguments.of(
            "digest",
            List.of(
                descriptor(
                    0x11,
                    p ->
                        p.getProducerBuilder()
                            .getPoolIdBuilder()
                            .getIndexerDomainBuilder()
                            .getCacheSemanticsBuilder()
                            .setDigest(ByteString.EMPTY)))));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("ambiguousCatalogs")
  void anAmbiguousCatalogIsRefusedWhole(String name, List<KvPoolDescriptor> pools) {
    GrpcConnectedSource remote = loopback.connect(server.address());
    server.answer(
        "WatchKvPoolCatalog",
        peer ->
            peer.send(
                FakeServer.catalog()
                    .setSnapshot(KvPoolCatalogSnapshot.newBuilder().addAllPools(pools))
                    .build()));
    ProbeSubscriber<PoolCatalog> probe = ProbeSubscriber.toAllOf(remote.catalog());
    assertReason(probe.failure(), RelayErrorReason.PROTOCOL_VIOLATION);
    assertThat(probe.waiting()).as(name).isZero();
  }

  @Test
  void twoPoolsThatOnlyANewerVersionCanNameAreNotTakenForOne() {
    Consumer<KvPoolDescriptor.Builder> newer =
        p -> p.getProducerBuilder().getPoolIdBuilder().setIdentityVersion(2);
    assertThat(catalogOf(descriptor(0x11, newer), descriptor(0x11, newer)).quarantined())
        .hasSize(2);
  }

  @Test
  void aCatalogWithoutSnapshotIsRefused() {
    GrpcConnectedSource remote = loopback.connect(server.address());
    server.answer(
        "WatchKvPoolCatalog", peer -> peer.send(FakeServer.catalog().clearSnapshot().build()));
    assertReason(
        ProbeSubscriber.toAllOf(remote.catalog()).failure(), RelayErrorReason.PROTOCOL_VIOLATION);
  }

  private ProbeSubscriber<TopologySnapshot> readinessOf(TopologyEntry... entries) {
    server.answer(
        "SubscribeServingReadiness",
        peer ->
            peer.send(
                ServingReadinessUpdate.newBuilder()
                    .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                    .setProtocolVersion(1)
                    .setRelay(KvRelayWire.toWire(Loopback.RELAY))
                    .setRevision(4)
                    .addAllEntries(List.of(entries))
                    .build()));
    return ProbeSubscriber.toAllOf(loopback.connect(server.address()).readiness());
  }

  @Test
  void anUnusableTopologyEntryIsQuarantinedWhole() {
    TopologyEntry good = KvRelayWire.toWire(Fixtures.ready("llama", POOL.poolId()));
    TopologySnapshot snapshot =
        readinessOf(
                good,
                Messages.entry(e -> e.setCanonicalModelId("a").setStateValue(9)),
                Messages.entry(
                    e -> e.setCanonicalModelId("b").getMembersBuilder(1).addRolesValue(9)),
                Messages.entry(
                    e -> e.setCanonicalModelId("c").getAdaptersBuilder(0).setStateValue(9)),
                Messages.entry(e -> e.setCanonicalModelId("d").clearMembers()))
            .next();
    assertThat(snapshot.entries()).containsExactly(KvRelayWire.fromWire(good));
    assertThat(snapshot.quarantined())
        .extracting(entry -> entry.key() + " " + entry.unsupported())
        .containsExactly("ns/a true", "ns/b true", "ns/c true", "ns/d false");
  }

  @Test
  void ambiguousReadinessIsRefusedWhole() {
    assertReason(
        readinessOf(Messages.entry(e -> {}), Messages.entry(TopologyEntry.Builder::clearMembers))
            .failure(),
        RelayErrorReason.PROTOCOL_VIOLATION);
    assertReason(
        readinessOf(Messages.entry(TopologyEntry.Builder::clearNamespace)).failure(),
        RelayErrorReason.PROTOCOL_VIOLATION);
  }

  private ProbeSubscriber<LoadSnapshot> loadOf(KvPoolLoadEntry... pools) {
    server.answer(
        "SubscribeKvPoolLoad",
        peer ->
            peer.send(
                KvPoolLoadUpdate.newBuilder()
                    .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                    .setProtocolVersion(1)
                    .setRelay(KvRelayWire.toWire(Loopback.RELAY))
                    .setWindowSequence(-1)
                    .setObservedMs(7)
                    .setWindowMs(8)
                    .addAllPools(List.of(pools))
                    .build()));
    return ProbeSubscriber.toAllOf(loopback.connect(server.address()).load());
  }

  private static KvPoolLoadEntry loadEntry(int b, Consumer<KvPoolLoadEntry.Builder> change) {
    KvPoolLoadEntry.Builder entry =
        KvRelayWire.toWire(Fixtures.load(Fixtures.producer(Fixtures.pool(b), 1, 16), 40, 100))
            .toBuilder();
    change.accept(entry);
    return entry.build();
  }

  @Test
  void anUnusableLoadEntryIsQuarantined() {
    LoadSnapshot load =
        loadOf(
                loadEntry(0x11, l -> {}),
                loadEntry(0x21, l -> l.getProducerBuilder().getCkfFormatBuilder().setSeed(1)),
                loadEntry(
                    0x31, l -> l.getProducerBuilder().getCkfFormatBuilder().setSlotsPerBucket(8)),
                loadEntry(0x41, l -> l.getProducerBuilder().setLayoutGeneration(0)))
            .next();
    assertThat(load.window()).isEqualTo(new LoadSnapshot.Window(-1, 7, 8));
    assertThat(load.pools()).hasSize(2);
    assertThat(load.quarantined())
        .extracting(entry -> entry.poolId() + " " + entry.unsupported())
        .containsExactly(Fixtures.pool(0x31) + " true", Fixtures.pool(0x41) + " false");
  }

  @Test
  void ambiguousLoadIsRefusedWhole() {
    assertReason(
        loadOf(loadEntry(0x11, l -> {}), loadEntry(0x11, l -> l.setKvUsedBlocks(1))).failure(),
        RelayErrorReason.PROTOCOL_VIOLATION);
    assertReason(
        loadOf(loadEntry(0x11, KvPoolLoadEntry.Builder::clearProducer)).failure(),
        RelayErrorReason.PROTOCOL_VIOLATION);
  }

  @Test
  void quarantineIsCounted() {
    server.answer(
        "WatchKvPoolCatalog",
        peer ->
            peer.send(
                FakeServer.catalog()
                    .setSnapshot(
                        KvPoolCatalogSnapshot.newBuilder()
                            .addPools(descriptor(0x11, p -> p.addPoolRolesValue(9))))
                    .build()));
    GrpcConnectedSource remote = loopback.connect(server.address());
    assertThat(ProbeSubscriber.to(remote.catalog()).ask().quarantined()).hasSize(1);
    // Once for the connector's own first catalog, once for the subscriber's.
    assertThat(remote.statistics().quarantinedEntries()).isEqualTo(2);
  }
}
