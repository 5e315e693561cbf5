package io.kvrelay.transport.grpc;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.ServingReadinessUpdate;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolLoadRequest;
import io.kvrelay.transport.grpc.v1.SubscribeKvPoolRequest;
import io.kvrelay.transport.grpc.v1.SubscribeServingReadinessRequest;
import io.kvrelay.transport.grpc.v1.WatchKvPoolCatalogRequest;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One relay life, mirrored over one channel. The channel may lose and regain its connection; a
 * stream that was lost is lost. When another relay life answers in the old one's place, everything
 * here ends for good.
 */
final class GrpcConnection implements GrpcConnectedSource {
  private static final Envelope<KvPoolCatalogUpdate> CATALOG =
      new Envelope<>(
          KvPoolCatalogUpdate::getContractMarker,
          KvPoolCatalogUpdate::getProtocolVersion,
          KvPoolCatalogUpdate::hasRelay,
          KvPoolCatalogUpdate::getRelay);
  private static final Envelope<FilterUpdate> POOL =
      new Envelope<>(
          FilterUpdate::getContractMarker,
          FilterUpdate::getProtocolVersion,
          FilterUpdate::hasRelay,
          FilterUpdate::getRelay);
  private static final Envelope<ServingReadinessUpdate> READINESS =
      new Envelope<>(
          ServingReadinessUpdate::getContractMarker,
          ServingReadinessUpdate::getProtocolVersion,
          ServingReadinessUpdate::hasRelay,
          ServingReadinessUpdate::getRelay);
  private static final Envelope<KvPoolLoadUpdate> LOAD =
      new Envelope<>(
          KvPoolLoadUpdate::getContractMarker,
          KvPoolLoadUpdate::getProtocolVersion,
          KvPoolLoadUpdate::hasRelay,
          KvPoolLoadUpdate::getRelay);

  private final URI address;
  private final ManagedChannel channel;
  private final ConnectOptions options;
  private final RelayIdentity relay;
  private final ClientCounters counters = new ClientCounters();
  private final Set<RemoteStream<?, ?>> streams = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> shutdown = new CompletableFuture<>();
  private final AtomicReference<@Nullable RelayException> ended = new AtomicReference<>();

  GrpcConnection(URI address, ManagedChannel channel, ConnectOptions options, RelayIdentity relay) {
    this.address = address;
    this.channel = channel;
    this.options = options;
    this.relay = relay;
  }

  @Override
  public URI address() {
    return address;
  }

  @Override
  public RelayIdentity relayIdentity() {
    return relay;
  }

  RelayIdentity relay() {
    return relay;
  }

  ClientCounters counters() {
    return counters;
  }

  @Override
  public GrpcConnectionStatistics statistics() {
    return counters.snapshot(streams.size());
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return shutdown.minimalCompletionStage();
  }

  // ---- Streams ----

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return publisher(
        Methods.Calling.CATALOG,
        CATALOG,
        () ->
            WatchKvPoolCatalogRequest.newBuilder()
                .setSubscriberId(options.subscriberId())
                .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                .build(),
        message -> {},
        message -> {
          PoolCatalog catalog = SnapshotDecoder.catalog(message);
          counters.quarantined(catalog.quarantined().size());
          return catalog;
        });
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return publisher(
        Methods.Calling.READINESS,
        READINESS,
        () ->
            SubscribeServingReadinessRequest.newBuilder()
                .setSubscriberId(options.subscriberId())
                .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                .build(),
        message -> {},
        message -> {
          TopologySnapshot topology = SnapshotDecoder.topology(message);
          counters.quarantined(topology.quarantined().size());
          return topology;
        });
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return publisher(
        Methods.Calling.LOAD,
        LOAD,
        () ->
            SubscribeKvPoolLoadRequest.newBuilder()
                .setSubscriberId(options.subscriberId())
                .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                .build(),
        message -> {},
        message -> {
          LoadSnapshot load = SnapshotDecoder.load(message);
          counters.quarantined(load.quarantined().size());
          return load;
        });
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    FrameDecoder decoder = new FrameDecoder(expected);
    return publisher(
        Methods.Calling.POOL,
        POOL,
        () ->
            SubscribeKvPoolRequest.newBuilder()
                .setSubscriberId(options.subscriberId())
                .setExpectedProducer(KvRelayWire.toWire(expected))
                .setContractMarker(KvRelayWire.CONTRACT_MARKER)
                .build(),
        decoder::checkProducer,
        message -> {
          PublicationFrame frame = decoder.frame(message);
          counters.payload(frame.payloadBytes());
          return frame;
        });
  }

  private <Q, W, T> Flow.Publisher<T> publisher(
      MethodDescriptor<Q, Received<W>> method,
      Envelope<W> envelope,
      Supplier<Q> request,
      Consumer<W> identityCheck,
      Function<W, T> decoder) {
    return subscriber -> {
      Objects.requireNonNull(subscriber, "subscriber");
      execute(
          () -> {
            ClientCall<Q, Received<W>> call = channel.newCall(method, CallOptions.DEFAULT);
            RemoteStream<W, T> stream =
                new RemoteStream<>(this, call, envelope, identityCheck, decoder, subscriber);
            streams.add(stream);
            RemoteStream.start(stream, call, request.get());
            RelayException over = ended.get();
            if (over != null) {
              stream.end(over, "the connection has ended");
            }
          });
    };
  }

  /** A stream is over, however it ended. */
  void closed(RemoteStream<?, ?> stream) {
    streams.remove(stream);
  }

  /** Runs on the runtime; nothing runs any more once the host has stopped it. */
  void execute(Runnable task) {
    new QuietExecutor(options.runtime().executor()).execute(task);
  }

  // ---- Ends ----

  /** Another relay life answered: every stream ends as unavailable, and the source with them. */
  RelayException replaced(RelayIdentity other) {
    RelayException failure =
        new RelayException(
            RelayErrorReason.PUBLICATION_UNAVAILABLE,
            "relay = " + other + ": connected to " + relay + ", which is gone");
    if (ended.compareAndSet(null, failure)) {
      // First the news that this source is over: whoever sees a stream fail looks there.
      shutdown.complete(null);
      open().forEach(stream -> stream.end(failure, "the relay was replaced"));
    }
    return failure;
  }

  @Override
  public void close() {
    boolean first =
        ended.compareAndSet(
            null, new RelayException(RelayErrorReason.CLOSED, "the connection is closed"));
    if (first) {
      shutdown.complete(null);
      open().forEach(RemoteStream::complete);
    }
    channel.shutdownNow();
  }

  private List<RemoteStream<?, ?>> open() {
    return new ArrayList<>(streams);
  }
}
