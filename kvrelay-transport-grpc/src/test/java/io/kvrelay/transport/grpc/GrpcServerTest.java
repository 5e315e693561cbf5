package io.kvrelay.transport.grpc;

import static io.kvrelay.transport.grpc.Loopback.POOL;
import static io.kvrelay.transport.grpc.Loopback.quiet;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.Channel;
import io.grpc.DecompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ScriptedPool;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.Relay;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import io.kvrelay.transport.grpc.v1.RelayInfoRequest;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolRequest;
import io.kvrelay.transport.grpc.v1.WatchKvPoolCatalogRequest;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server as a client of any make sees it. */
@Timeout(60)
class GrpcServerTest {
  private static final int MARKER = KvRelayWire.CONTRACT_MARKER;
  private static final List<String> WATCHES =
      List.of("WatchKvPoolCatalog", "SubscribeServingReadiness", "SubscribeKvPoolLoad");

  private final Loopback loopback = new Loopback();

  @AfterEach
  void close() throws Exception {
    loopback.close();
  }

  /** All watch requests have the same two fields. */
  private static byte[] watch(int marker, String subscriberId) {
    return WatchKvPoolCatalogRequest.newBuilder()
        .setContractMarker(marker)
        .setSubscriberId(subscriberId)
        .build()
        .toByteArray();
  }

  private static SubscribeKvPoolRequest.Builder pool(ProducerIdentity producer) {
    return SubscribeKvPoolRequest.newBuilder()
        .setContractMarker(MARKER)
        .setSubscriberId("consumer-a")
        .setExpectedProducer(KvRelayWire.toWire(producer));
  }

  private static RawCall subscribe(Channel channel, MessageLite request) {
    return RawCall.send(channel, "SubscribeKvPool", request.toByteArray()).request(1);
  }

  private static void assertRefused(RawCall call, RelayErrorReason reason) {
    RawCall.End end = call.end();
    assertThat(end.status().getCode()).isEqualTo(WireErrors.code(reason));
    assertThat(end.trailers().get(WireErrors.REASON_TRAILER))
        .isEqualTo("RELAY_ERROR_REASON_" + reason);
    assertThat(call.messages).isEmpty();
    assertThat(call.headers).as("a refusal is trailers only").isNotDone();
  }

  // ---- Requests ----

  @Test
  void relayInfo() throws Exception {
    Channel channel = loopback.channel(loopback.export().address());
    byte[] request = RelayInfoRequest.newBuilder().setContractMarker(MARKER).build().toByteArray();
    RawCall call = RawCall.send(channel, "GetRelayInfo", request).request(2);
    RelayInfo info = RelayInfo.parseFrom(call.next());
    assertThat(info.getContractMarker()).isEqualTo(MARKER);
    assertThat(info.getProtocolVersion()).isEqualTo(1);
    assertThat(KvRelayWire.fromWire(info.getRelay())).isEqualTo(Loopback.RELAY);
    assertThat(call.end().status().isOk()).isTrue();
    assertRefused(
        RawCall.send(channel, "GetRelayInfo", new byte[0]).request(1),
        RelayErrorReason.CONTRACT_MISMATCH);
  }

  static Stream<Arguments> badWatches() {
    return WATCHES.stream()
        .flatMap(
            method ->
                Stream.of(
                    Arguments.of(method, 0, "ok", RelayErrorReason.CONTRACT_MISMATCH),
                    Arguments.of(method, MARKER + 1, "", RelayErrorReason.CONTRACT_MISMATCH),
                    Arguments.of(method, MARKER, "", RelayErrorReason.INVALID_REQUEST),
                    Arguments.of(method, MARKER, "s".repeat(129), RelayErrorReason.INVALID_REQUEST),
                    Arguments.of(method, MARKER, "ü".repeat(65), RelayErrorReason.INVALID_REQUEST),
                    Arguments.of(method, MARKER, "a\nb", RelayErrorReason.INVALID_REQUEST),
                    Arguments.of(method, MARKER, "a\0b", RelayErrorReason.INVALID_REQUEST),
                    Arguments.of(method, MARKER, "a\u0085b", RelayErrorReason.INVALID_REQUEST)));
  }

  @ParameterizedTest
  @MethodSource("badWatches")
  void watchesCheckMarkerThenLabel(
      String method, int marker, String label, RelayErrorReason reason) {
    GrpcRelayExport export = loopback.export();
    Channel channel = loopback.channel(export.address());
    assertRefused(RawCall.send(channel, method, watch(marker, label)).request(1), reason);
    assertThat(export.statistics().refusedRequests()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"consumer-a", "   ", " leading", "größe"})
  void labelsAreNotTrimmed(String label) {
    Channel channel = loopback.channel(loopback.export().address());
    for (String method : WATCHES) {
      RawCall.send(channel, method, watch(MARKER, label)).request(1).next();
    }
  }

  @Test
  void poolRequestsAreCheckedInOrder() throws Exception {
    loopback.addPool(POOL, 0);
    ExportOptions options =
        loopback.exportOptions().withLimits(quiet().maxPoolStreamsTotal(1).build());
    GrpcRelayExport export = loopback.export(options);
    Channel channel = loopback.channel(export.address());
    SubscribeKvPoolRequest.Builder broken = pool(POOL).clearExpectedProducer();
    assertRefused(
        subscribe(channel, broken.clone().setContractMarker(7).setSubscriberId("").build()),
        RelayErrorReason.CONTRACT_MISMATCH);
    assertRefused(
        subscribe(channel, broken.clone().setSubscriberId("").build()),
        RelayErrorReason.INVALID_REQUEST);
    assertRefused(subscribe(channel, broken.build()), RelayErrorReason.INVALID_REQUEST);

    RawCall first = subscribe(channel, pool(POOL).build());
    first.next();
    SubscribeKvPoolRequest.Builder newer = pool(POOL);
    newer.getExpectedProducerBuilder().getPoolIdBuilder().setIdentityVersion(2);
    assertRefused(subscribe(channel, newer.build()), RelayErrorReason.UNSUPPORTED_FEATURE);
    SubscribeKvPoolRequest.Builder zero = pool(POOL);
    zero.getExpectedProducerBuilder().setLayoutGeneration(0);
    assertRefused(subscribe(channel, zero.build()), RelayErrorReason.INVALID_REQUEST);
    SubscribeKvPoolRequest.Builder unknown = pool(POOL);
    unknown.getExpectedProducerBuilder().getPoolIdBuilder().setDcId(4);
    assertRefused(subscribe(channel, unknown.build()), RelayErrorReason.RESOURCE_LIMIT);
    assertThat(export.statistics().streams().get(StreamKind.POOL))
        .isEqualTo(new GrpcExportStatistics.Streams(1, 0, 1));

    first.call.cancel("enough", null);
    Loopback.eventually(() -> export.statistics().streams().get(StreamKind.POOL).open() == 0);
    assertRefused(subscribe(channel, unknown.build()), RelayErrorReason.POOL_NOT_FOUND);
    // A client may see its end before the server has its permit back.
    Loopback.eventually(() -> export.statistics().streams().get(StreamKind.POOL).open() == 0);
    SubscribeKvPoolRequest.Builder older = pool(POOL);
    older.getExpectedProducerBuilder().setLayoutGeneration(9);
    assertRefused(subscribe(channel, older.build()), RelayErrorReason.PRODUCER_CHANGED);
    Loopback.eventually(() -> export.statistics().streams().get(StreamKind.POOL).open() == 0);
    assertThat(FilterUpdate.parseFrom(subscribe(channel, pool(POOL).build()).next()).getSequence())
        .isZero();
  }

  @Test
  void aSourceThatThrowsEndsTheStreamTypedAndCostsNoPermit() throws Exception {
    RelayPublicationSource throwing =
        (RelayPublicationSource)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {RelayPublicationSource.class},
                (proxy, method, arguments) -> {
                  if (method.getName().equals("pool")) {
                    throw new IllegalStateException("on purpose");
                  }
                  return method.invoke(loopback.source, arguments);
                });
    try (GrpcExport export =
        (GrpcExport)
            new GrpcTransport()
                .export(throwing, URI.create("grpc://127.0.0.1:0"), loopback.exportOptions())) {
      Channel channel = loopback.channel(export.address());
      assertRefused(subscribe(channel, pool(POOL).build()), RelayErrorReason.INTERNAL);
      Loopback.eventually(() -> export.statistics().streams().get(StreamKind.POOL).open() == 0);
    }
  }

  @Test
  void fieldsOfNewerVersionsAreIgnored() throws Exception {
    loopback.addPool(POOL, 0);
    Channel channel = loopback.channel(loopback.export().address());
    SubscribeKvPoolRequest.Builder newer = pool(POOL).setUnknownFields(Messages.ADDED);
    newer.getExpectedProducerBuilder().getPoolIdBuilder().setUnknownFields(Messages.ADDED);
    FilterUpdate update = FilterUpdate.parseFrom(subscribe(channel, newer.build()).next());
    assertThat(update.getProducer()).isEqualTo(KvRelayWire.toWire(POOL));
  }

  @Test
  void requestsThatAreNoneEndWithoutAReason() {
    Channel channel = loopback.channel(loopback.export().address());
    RawCall garbage = RawCall.send(channel, "WatchKvPoolCatalog", new byte[] {0x0a, 0x7f});
    assertThat(garbage.end().status().getCode()).isEqualTo(Status.Code.INTERNAL);
    assertThat(garbage.end().reason()).isEmpty();
    RawCall none = RawCall.open(channel, "WatchKvPoolCatalog");
    none.call.halfClose();
    assertThat(none.end().status().isOk()).isFalse();
    RawCall two = RawCall.open(channel, "WatchKvPoolCatalog");
    two.call.sendMessage(watch(MARKER, "a"));
    two.call.sendMessage(watch(MARKER, "b"));
    assertThat(two.end().status().isOk()).isFalse();
    assertThat(RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "a")).request(1).next())
        .isNotEmpty();
  }

  @Test
  void requestsBeyondTheLimitAreRefused() {
    Channel channel = loopback.channel(loopback.export().address());
    Logger netty = Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerStream");
    List<String> logged = new CopyOnWriteArrayList<>();
    netty.setFilter(
        record -> {
          logged.add(String.valueOf(record.getThrown()));
          return false;
        });
    try {
      RawCall huge =
          RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "s".repeat(9 << 20)));
      assertThat(huge.end().status().isOk()).isFalse();
      assertThat(huge.messages).isEmpty();
      assertThat(logged).singleElement().asString().contains("exceeds maximum size");
    } finally {
      netty.setFilter(null);
    }
  }

  @Test
  void thePlaneThatIsNotServedIsUnimplemented() {
    Channel channel = loopback.channel(loopback.export().address());
    RawCall call = RawCall.send(channel, "SubscribeServingLoad", watch(MARKER, "a"));
    assertThat(call.end().status().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  // ---- Responses ----

  @Test
  void everyMessageCarriesTheEnvelope() throws Exception {
    ScriptedPool served = loopback.addPool(POOL, 7);
    Channel channel = loopback.channel(loopback.export().address());
    RawCall stream = subscribe(channel, pool(POOL).build()).request(9);
    FilterUpdate chunk = FilterUpdate.parseFrom(stream.next());
    assertThat(chunk.getContractMarker()).isEqualTo(MARKER);
    assertThat(chunk.getProtocolVersion()).isEqualTo(1);
    assertThat(KvRelayWire.fromWire(chunk.getRelay())).isEqualTo(Loopback.RELAY);
    assertThat(chunk.getProducer()).isEqualTo(KvRelayWire.toWire(POOL));
    assertThat(chunk.getKindValue()).isEqualTo(1);
    assertThat(chunk.getBaseSequence()).isEqualTo(7);
    assertThat(chunk.getSequence()).isEqualTo(7);
    assertThat(chunk.getSendTsUs()).isPositive();
    served.publish(Fixtures.delta(POOL, 8, 100));
    FilterUpdate delta = FilterUpdate.parseFrom(stream.next());
    assertThat(delta.getKindValue()).isEqualTo(2);
    assertThat(delta.getPayload())
        .isEqualTo(ByteString.copyFrom(Fixtures.delta(POOL, 8, 100).payload()));
    KvPoolCatalogUpdate catalog =
        KvPoolCatalogUpdate.parseFrom(
            RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "a")).request(1).next());
    assertThat(catalog.hasSnapshot()).isTrue();
    KvPoolLoadUpdate load =
        KvPoolLoadUpdate.parseFrom(
            RawCall.send(channel, "SubscribeKvPoolLoad", watch(MARKER, "a")).request(1).next());
    assertThat(load.getWindowSequence()).isZero();
    assertThat(load.getObservedMs()).isPositive();
    assertThat(load.getWindowMs()).isEqualTo(Loopback.LONG.toMillis());
  }

  @Test
  void aFullChunkNeedsMoreThanTheUsualReceiveLimit() {
    ProducerIdentity twoChunks = Fixtures.producer(Fixtures.pool(0x21), 1, 1 << 20);
    loopback.addPool(twoChunks, 0);
    URI address = loopback.export().address();
    RawCall enough = subscribe(loopback.channel(address), pool(twoChunks).build()).request(1);
    assertThat(enough.next().length).isGreaterThan(4 << 20);
    enough.next();
    Channel usual =
        loopback.channel(
            NettyChannelBuilder.forAddress("127.0.0.1", address.getPort()).usePlaintext());
    RawCall.End end = subscribe(usual, pool(twoChunks).build()).end();
    assertThat(end.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(end.reason()).isEmpty();
  }

  @Test
  void aMessageBeyondTheLimitEndsItsStreamOnly() {
    ScriptedPool served = loopback.addPool(POOL, 0);
    GrpcRelayExport export = loopback.export();
    Channel channel = loopback.channel(export.address());
    RawCall stream = subscribe(channel, pool(POOL).build());
    stream.next();
    PoolDescriptor plain = Fixtures.descriptor(POOL);
    PoolDescriptor huge =
        new PoolDescriptor(
            POOL,
            plain.servingEndpoint(),
            List.of(ModelRegistration.base("m", "a".repeat(9 << 20))),
            plain.querySemantics(),
            plain.roles());
    RawCall watch = RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "a")).request(9);
    watch.next();
    loopback.source.publish(new PoolCatalog(9, List.of(huge)));
    assertThat(watch.end().status().getCode()).isEqualTo(Status.Code.OUT_OF_RANGE);
    assertThat(watch.end().reason()).isEmpty();
    assertThat(export.statistics().oversizedMessages()).isEqualTo(1);
    served.publish(Fixtures.delta(POOL, 1, 100));
    stream.request(1).next();
  }

  // ---- Compression ----

  @Test
  void zstdIsUsedOnlyTowardsThoseWhoKnowIt() throws Exception {
    ProducerIdentity large = Fixtures.producer(Fixtures.pool(0x21), 1, 1 << 19);
    io.kvrelay.api.PublicationFrame empty =
        new io.kvrelay.api.PublicationFrame(
            large,
            io.kvrelay.api.PublicationFrame.Kind.SNAPSHOT_CHUNK,
            0,
            0,
            java.nio.ByteBuffer.allocate(4 << 20),
            0);
    loopback.source.addPool(Fixtures.descriptor(large), List.of(empty), 64);
    URI address = loopback.export().address();
    Metadata.Key<String> encoding =
        Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER);
    RawCall plain = subscribe(loopback.channel(address), pool(large).build());
    assertThat(plain.next().length).isGreaterThan(4 << 20);
    assertThat(plain.headers.join().get(encoding)).isIn(null, "identity");
    DecompressorRegistry zstd =
        DecompressorRegistry.getDefaultInstance().with(ZstdSupport.codec(), true);
    RawCall packed =
        subscribe(
            loopback.channel(
                NettyChannelBuilder.forAddress("127.0.0.1", address.getPort())
                    .usePlaintext()
                    .decompressorRegistry(zstd)
                    .maxInboundMessageSize(8 << 20)),
            pool(large).build());
    assertThat(packed.next().length).isGreaterThan(4 << 20);
    assertThat(packed.headers.join().get(encoding)).isEqualTo("zstd");
    GrpcRelayExport without =
        loopback.export(loopback.exportOptions().with(GrpcTransport.ZSTD, false));
    RawCall refusedOffer =
        subscribe(
            loopback.channel(
                NettyChannelBuilder.forAddress("127.0.0.1", without.address().getPort())
                    .usePlaintext()
                    .decompressorRegistry(zstd)
                    .maxInboundMessageSize(8 << 20)),
            pool(large).build());
    refusedOffer.next();
    assertThat(refusedOffer.headers.join().get(encoding)).isIn(null, "identity");
  }

  @Test
  void aCompressedRequestIsRead() {
    ManagedChannel channel =
        loopback.channel(
            NettyChannelBuilder.forAddress("127.0.0.1", loopback.export().address().getPort())
                .usePlaintext()
                .compressorRegistry(Compression.detected().compressors()));
    io.grpc.ClientCall<byte[], byte[]> call =
        channel.newCall(
            RawCall.method("WatchKvPoolCatalog"),
            io.grpc.CallOptions.DEFAULT.withCompression("zstd"));
    CompletableFuture<byte[]> first = new CompletableFuture<>();
    call.start(
        new io.grpc.ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] message) {
            first.complete(message);
          }
        },
        new Metadata());
    call.sendMessage(watch(MARKER, "x".repeat(128)));
    call.halfClose();
    call.request(1);
    assertThat(first.orTimeout(5, TimeUnit.SECONDS).join()).isNotEmpty();
  }

  // ---- Neighbours ----

  @Test
  void healthIsReportedUnderTheServiceName() {
    Channel channel = loopback.channel(loopback.export().address());
    HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(channel);
    assertThat(
            health
                .check(HealthCheckRequest.newBuilder().setService(KvRelayWire.SERVICE_NAME).build())
                .getStatus())
        .isEqualTo(ServingStatus.SERVING);
    assertThat(health.check(HealthCheckRequest.getDefaultInstance()).getStatus())
        .isEqualTo(ServingStatus.SERVING);
  }

  @Test
  void reflectionShowsTheSchema() throws Exception {
    Channel channel = loopback.channel(loopback.export().address());
    ServerReflectionResponse services =
        reflect(channel, ServerReflectionRequest.newBuilder().setListServices("").build());
    assertThat(services.getListServicesResponse().getServiceList())
        .anyMatch(service -> service.getName().equals(KvRelayWire.SERVICE_NAME));
    ServerReflectionResponse file =
        reflect(
            channel,
            ServerReflectionRequest.newBuilder()
                .setFileContainingSymbol(KvRelayWire.SERVICE_NAME)
                .build());
    assertThat(file.getFileDescriptorResponse().getFileDescriptorProto(0))
        .isEqualTo(Relay.getDescriptor().toProto().toByteString());
  }

  private static ServerReflectionResponse reflect(Channel channel, ServerReflectionRequest request)
      throws Exception {
    CompletableFuture<ServerReflectionResponse> response = new CompletableFuture<>();
    StreamObserver<ServerReflectionRequest> requests =
        ServerReflectionGrpc.newStub(channel)
            .serverReflectionInfo(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ServerReflectionResponse value) {
                    response.complete(value);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    response.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(request);
    requests.onCompleted();
    return response.get(5, TimeUnit.SECONDS);
  }

  @Test
  void theBuilderHookCanAddAnInterceptor() {
    AtomicInteger calls = new AtomicInteger();
    ServerInterceptor counting =
        new ServerInterceptor() {
          @Override
          public <Q, R> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            calls.incrementAndGet();
            return next.startCall(call, headers);
          }
        };
    ExportOptions options =
        GrpcTransport.withServerBuilder(
            loopback.exportOptions(), builder -> builder.intercept(counting));
    loopback.connect(loopback.export(options).address());
    assertThat(calls).hasValueGreaterThanOrEqualTo(2);
  }

  @Test
  void attributesOfAnotherTypeAreRefused() {
    assertThatThrownBy(
            () -> loopback.export(loopback.exportOptions().with(GrpcTransport.ZSTD, "yes")))
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("grpc.zstd = yes");
  }

  // ---- Addresses ----

  @ParameterizedTest
  @ValueSource(
      strings = {
        "grpc:here",
        "grpc://127.0.0.1",
        "grpc://127.0.0.1:",
        "grpc://:5561",
        "grpc://127.0.0.1:65536",
        "grpc://127.0.0.1:-1",
        "grpc://127.0.0.1:+5561",
        "grpc://127.0.0.1:5561/path",
        "grpc://127.0.0.1:5561?q",
        "grpc://user@127.0.0.1:5561",
        "grpc://::1:5561"
      })
  void malformedAddressesAreNamed(String address) {
    assertThatThrownBy(() -> GrpcAddress.parse(URI.create(address)))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.INVALID_CONFIGURATION))
        .hasMessageContaining(address);
  }

  @Test
  void hostsOfEveryForm() {
    assertThat(GrpcAddress.parse(URI.create("grpc://[::1]:5561")))
        .isEqualTo(new GrpcAddress("::1", 5561));
    assertThat(GrpcAddress.parse(URI.create("grpc://my_relay.svc:5561/")))
        .isEqualTo(new GrpcAddress("my_relay.svc", 5561));
    assertThat(new GrpcAddress("::1", 5561).toUri()).hasToString("grpc://[::1]:5561");
  }

  @Test
  void aWildcardReportsTheBoundPort() {
    GrpcRelayExport export =
        loopback.closing(
            new GrpcTransport()
                .export(loopback.source, URI.create("grpc://0.0.0.0:0"), loopback.exportOptions()));
    assertThat(export.address().getHost()).isEqualTo("0.0.0.0");
    assertThat(export.address().getPort()).isPositive();
    loopback.connect(URI.create("grpc://127.0.0.1:" + export.address().getPort()));
  }

  // ---- Shutdown and lost peers ----

  @Test
  void shutdownWaitsForNobody() throws Exception {
    ProducerIdentity twoChunks = Fixtures.producer(Fixtures.pool(0x21), 1, 1 << 20);
    loopback.addPool(twoChunks, 0);
    GrpcRelayExport export = loopback.export();
    Channel channel = loopback.channel(export.address());
    RawCall catalog = RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "a")).request(9);
    catalog.next();
    RawCall unread =
        RawCall.send(channel, "SubscribeKvPool", pool(twoChunks).build().toByteArray());
    RawCall neverHalfClosed = RawCall.open(channel, "WatchKvPoolCatalog");
    try (Socket idle = socket(export);
        Socket prefaceOnly = socket(export);
        Socket halfOpen = socket(export)) {
      prefaceOnly.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII));
      halfOpen.shutdownOutput();
      Loopback.eventually(() -> export.statistics().streams().get(StreamKind.POOL).open() == 1);
      long start = System.nanoTime();
      export.close();
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
      assertThat(export.isServing()).isFalse();
      assertThat(export.lastError()).isNull();
      idle.setSoTimeout(5000);
      assertThat(readToEnd(idle)).isTrue();
      assertThat(readToEnd(prefaceOnly)).isTrue();
    }
    catalog.end();
    unread.request(9);
    unread.end();
    neverHalfClosed.end();
  }

  private static Socket socket(GrpcRelayExport export) throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), export.address().getPort());
  }

  private static boolean readToEnd(Socket socket) {
    try {
      socket.setSoTimeout(5000);
      while (socket.getInputStream().read() >= 0) {
        // until the server is gone
      }
      return true;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  @Test
  void aResetConnectionGivesItsPermitsBack() throws Exception {
    ScriptedPool served = loopback.addPool(POOL, 0);
    GrpcRelayExport export = loopback.export();
    try (TcpProxy proxy = new TcpProxy(export.address().getPort())) {
      Channel channel = loopback.channel(proxy.address());
      subscribe(channel, pool(POOL).build()).next();
      RawCall.send(channel, "WatchKvPoolCatalog", watch(MARKER, "a")).request(1).next();
      proxy.reset();
      Loopback.eventually(() -> served.subscribers() == 0);
      Loopback.eventually(
          () ->
              export
                  .statistics()
                  .streams()
                  .equals(
                      Map.of(
                          StreamKind.CATALOG, new GrpcExportStatistics.Streams(0, 0, 0),
                          StreamKind.POOL, new GrpcExportStatistics.Streams(0, 0, 0),
                          StreamKind.READINESS, new GrpcExportStatistics.Streams(0, 0, 0),
                          StreamKind.LOAD, new GrpcExportStatistics.Streams(0, 0, 0))));
    }
  }
}
