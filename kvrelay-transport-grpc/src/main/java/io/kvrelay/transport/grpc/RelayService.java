package io.kvrelay.transport.grpc;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogSnapshot;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import io.kvrelay.transport.grpc.v1.RelayInfoRequest;
import io.kvrelay.transport.grpc.v1.ServingReadinessUpdate;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolLoadRequest;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolRequest;
import io.kvrelay.transport.grpc.v1.SubscribeServingReadinessRequest;
import io.kvrelay.transport.grpc.v1.WatchKvPoolCatalogRequest;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The service: checks each request in the contract's order - marker, label, producer, permit - and
 * opens its stream. Whether the producer exists is the source's decision.
 */
final class RelayService {
  private final StreamContext context;
  private final LoadPublisher windows;
  private final MessageMemo<PoolCatalog, KvPoolCatalogUpdate> catalogs =
      new MessageMemo<>(this::message);
  private final MessageMemo<TopologySnapshot, ServingReadinessUpdate> readiness =
      new MessageMemo<>(this::message);

  RelayService(StreamContext context, LoadPublisher windows) {
    this.context = context;
    this.windows = windows;
  }

  ServerServiceDefinition definition() {
    ServerServiceDefinition.Builder service =
        ServerServiceDefinition.builder(Methods.Serving.SERVICE);
    handle(service, Methods.Serving.INFO, this::info);
    handle(service, Methods.Serving.CATALOG, this::catalog);
    handle(service, Methods.Serving.POOL, this::pool);
    handle(service, Methods.Serving.READINESS, this::readiness);
    handle(service, Methods.Serving.LOAD, this::load);
    return service.build();
  }

  private static <Q, R> void handle(
      ServerServiceDefinition.Builder service,
      MethodDescriptor<Received<Q>, R> method,
      StreamCall.Handler<Q, R> handler) {
    service.addMethod(method, (call, headers) -> new StreamCall<>(call, handler));
  }

  private @Nullable ResponseStream info(
      RelayInfoRequest request, ServerCall<Received<RelayInfoRequest>, RelayInfo> call) {
    if (refusedByMarker(call, request.getContractMarker())) {
      return null;
    }
    call.sendHeaders(new Metadata());
    call.sendMessage(
        RelayInfo.newBuilder()
            .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
            .setRelay(KvRelayWire.toWire(context.relay()))
            .setContractMarker(KvRelayWire.CONTRACT_MARKER)
            .build());
    call.close(Status.OK, new Metadata());
    return null;
  }

  private @Nullable ResponseStream catalog(
      WatchKvPoolCatalogRequest request,
      ServerCall<Received<WatchKvPoolCatalogRequest>, KvPoolCatalogUpdate> call) {
    if (refusedByMarker(call, request.getContractMarker())
        || refusedByLabel(call, request.getSubscriberId())
        || refusedByLimit(call, StreamKind.CATALOG)) {
      return null;
    }
    return open(
        new WatchStream<>(
            context,
            StreamKind.CATALOG,
            call,
            catalogs,
            context.limits().catalogHeartbeatInterval()),
        context.source()::catalog);
  }

  private @Nullable ResponseStream readiness(
      SubscribeServingReadinessRequest request,
      ServerCall<Received<SubscribeServingReadinessRequest>, ServingReadinessUpdate> call) {
    if (refusedByMarker(call, request.getContractMarker())
        || refusedByLabel(call, request.getSubscriberId())
        || refusedByLimit(call, StreamKind.READINESS)) {
      return null;
    }
    return open(
        new WatchStream<>(
            context,
            StreamKind.READINESS,
            call,
            readiness,
            context.limits().readinessHeartbeatInterval()),
        context.source()::readiness);
  }

  private @Nullable ResponseStream load(
      SubscribeKvPoolLoadRequest request,
      ServerCall<Received<SubscribeKvPoolLoadRequest>, KvPoolLoadUpdate> call) {
    if (refusedByMarker(call, request.getContractMarker())
        || refusedByLabel(call, request.getSubscriberId())
        || refusedByLimit(call, StreamKind.LOAD)) {
      return null;
    }
    LoadStream stream = new LoadStream(context, call, windows);
    context.opened(stream);
    windows.join(stream);
    return stream;
  }

  private @Nullable ResponseStream pool(
      SubscribeKvPoolRequest request,
      ServerCall<Received<SubscribeKvPoolRequest>, FilterMessage> call) {
    if (refusedByMarker(call, request.getContractMarker())
        || refusedByLabel(call, request.getSubscriberId())) {
      return null;
    }
    WireFault fault =
        request.hasExpectedProducer()
            ? WireValidator.producer(request.getExpectedProducer())
            : WireFault.missing("expected_producer");
    if (fault != null) {
      RelayErrorReason reason =
          fault.unsupported()
              ? RelayErrorReason.UNSUPPORTED_FEATURE
              : RelayErrorReason.INVALID_REQUEST;
      return refuse(call, reason, fault.describe());
    }
    if (refusedByLimit(call, StreamKind.POOL)) {
      return null;
    }
    io.kvrelay.api.ProducerIdentity producer = KvRelayWire.fromWire(request.getExpectedProducer());
    return open(new PoolStream(context, call, producer), () -> context.source().pool(producer));
  }

  private <T, M> ResponseStream open(
      FlowStream<T, M> stream, Supplier<Flow.Publisher<T>> publisher) {
    context.opened(stream);
    try {
      publisher.get().subscribe(stream);
    } catch (RuntimeException e) {
      // Out of here it would end the call without the stream, which holds a permit.
      stream.failAs(e);
    }
    return stream;
  }

  private boolean refusedByMarker(ServerCall<?, ?> call, int marker) {
    WireFault fault = WireValidator.marker(marker);
    if (fault == null) {
      return false;
    }
    refuse(call, RelayErrorReason.CONTRACT_MISMATCH, fault.describe());
    return true;
  }

  private boolean refusedByLabel(ServerCall<?, ?> call, String subscriberId) {
    String fault = ConnectOptions.subscriberIdFault(subscriberId);
    if (fault.isEmpty()) {
      return false;
    }
    refuse(call, RelayErrorReason.INVALID_REQUEST, "subscriber_id " + fault);
    return true;
  }

  private boolean refusedByLimit(ServerCall<?, ?> call, StreamKind kind) {
    Permits permits = context.permits(kind);
    if (permits.tryAcquire()) {
      return false;
    }
    context.counters().limitRejected(kind);
    close(
        call,
        RelayErrorReason.RESOURCE_LIMIT,
        permits.limit() + " " + kind + " streams are open, the most there may be");
    return true;
  }

  private @Nullable ResponseStream refuse(
      ServerCall<?, ?> call, RelayErrorReason reason, String text) {
    context.counters().refusedRequest();
    close(call, reason, text);
    return null;
  }

  private static void close(ServerCall<?, ?> call, RelayErrorReason reason, String text) {
    call.close(
        Status.fromCode(WireErrors.code(reason)).withDescription(text),
        WireErrors.trailers(reason));
  }

  private KvPoolCatalogUpdate message(PoolCatalog catalog) {
    KvPoolCatalogSnapshot.Builder pools = KvPoolCatalogSnapshot.newBuilder();
    catalog.pools().forEach(pool -> pools.addPools(KvRelayWire.toWire(pool)));
    return KvPoolCatalogUpdate.newBuilder()
        .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
        .setRelay(KvRelayWire.toWire(context.relay()))
        .setRevision(catalog.revision())
        .setSnapshot(pools)
        .setContractMarker(KvRelayWire.CONTRACT_MARKER)
        .build();
  }

  private ServingReadinessUpdate message(TopologySnapshot topology) {
    ServingReadinessUpdate.Builder wire =
        ServingReadinessUpdate.newBuilder()
            .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
            .setRelay(KvRelayWire.toWire(context.relay()))
            .setRevision(topology.revision())
            .setContractMarker(KvRelayWire.CONTRACT_MARKER);
    topology.entries().forEach(entry -> wire.addEntries(KvRelayWire.toWire(entry)));
    return wire.build();
  }
}
