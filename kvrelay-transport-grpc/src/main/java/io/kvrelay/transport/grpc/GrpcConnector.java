package io.kvrelay.transport.grpc;

import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import io.kvrelay.transport.grpc.v1.RelayInfoRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One attempt to connect: relay info, then a first catalog, within the time allowed. */
final class GrpcConnector {
  /** What the contract's servers expect of each other, too. */
  private static final long KEEPALIVE_SECONDS = 20;

  private static final long KEEPALIVE_TIMEOUT_SECONDS = 10;
  private static final int MAX_MESSAGE_BYTES = 8 << 20;

  private static final Envelope<RelayInfo> INFO =
      new Envelope<>(
          RelayInfo::getContractMarker,
          RelayInfo::getProtocolVersion,
          RelayInfo::hasRelay,
          RelayInfo::getRelay);

  private final GrpcAddress address;
  private final ConnectOptions options;
  private final ManagedChannel channel;
  private final CompletableFuture<ConnectedSource> result = new CompletableFuture<>();

  private GrpcConnector(GrpcAddress address, ConnectOptions options) {
    this.address = address;
    this.options = options;
    this.channel = channel(address, options);
  }

  static CompletionStage<ConnectedSource> connect(GrpcAddress address, ConnectOptions options) {
    if (address.port() == 0) {
      throw new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION,
          "address = " + address.toUri() + ": port 0 cannot be connected to");
    }
    GrpcConnector attempt = new GrpcConnector(address, options);
    attempt.run();
    return attempt.result;
  }

  private static ManagedChannel channel(GrpcAddress address, ConnectOptions options) {
    ChannelCredentials credentials =
        GrpcTransport.attribute(
            options.attributes(), GrpcTransport.CHANNEL_CREDENTIALS, ChannelCredentials.class);
    Compression compression = GrpcTransport.compression(options);
    ManagedChannelBuilder<?> builder =
        NettyChannelBuilder.forAddress(
                address.host(),
                address.port(),
                credentials == null ? InsecureChannelCredentials.create() : credentials)
            .executor(new QuietExecutor(options.runtime().executor()))
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .compressorRegistry(compression.compressors())
            .decompressorRegistry(compression.decompressors())
            .disableServiceConfigLookUp()
            .disableRetry();
    return GrpcTransport.channelHook(options).apply(builder).build();
  }

  private void run() {
    RelayRuntime.Timer timeout =
        options
            .runtime()
            .schedule(
                Nanos.of(options.connectTimeout()),
                () -> fail(unreachable("no answer within " + options.connectTimeout(), null)));
    var unused =
        result.whenComplete(
            (source, failure) -> {
              timeout.cancel();
              if (failure != null) {
                channel.shutdownNow();
              }
            });
    RelayInfoRequest request =
        RelayInfoRequest.newBuilder().setContractMarker(KvRelayWire.CONTRACT_MARKER).build();
    ClientCalls.asyncUnaryCall(
        channel.newCall(Methods.Calling.INFO, CallOptions.DEFAULT), request, new InfoObserver());
  }

  private final class InfoObserver implements StreamObserver<Received<RelayInfo>> {
    @Override
    public void onNext(Received<RelayInfo> received) {
      RelayInfo info = received.message();
      try {
        if (info == null) {
          throw new RelayException(
              RelayErrorReason.PROTOCOL_VIOLATION, "relay info does not decode");
        }
        INFO.check(info);
        firstCatalog(INFO.relayOf(info));
      } catch (RelayException e) {
        fail(e);
      }
    }

    @Override
    public void onError(Throwable failure) {
      fail(refused(failure));
    }

    @Override
    public void onCompleted() {
      // onNext went on already
    }
  }

  private void firstCatalog(RelayIdentity relay) {
    GrpcConnection connection = new GrpcConnection(address.toUri(), channel, options, relay);
    connection.catalog().subscribe(new FirstCatalog(connection));
  }

  private final class FirstCatalog implements Flow.Subscriber<PoolCatalog> {
    private final GrpcConnection connection;
    private Flow.@Nullable Subscription subscription;

    private FirstCatalog(GrpcConnection connection) {
      this.connection = connection;
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
      s.request(1);
    }

    @Override
    public void onNext(PoolCatalog catalog) {
      if (subscription != null) {
        subscription.cancel();
      }
      if (!result.complete(connection)) {
        connection.close();
      }
    }

    @Override
    public void onError(Throwable failure) {
      fail(failure);
    }

    @Override
    public void onComplete() {
      fail(unreachable("closed before a catalog came", null));
    }
  }

  private void fail(Throwable failure) {
    result.completeExceptionally(failure);
  }

  /** Nobody there is the address's fault; anything else came from a peer. */
  private Throwable refused(Throwable failure) {
    if (!(failure instanceof StatusRuntimeException answered)) {
      return failure;
    }
    boolean bare = WireErrors.reason(answered.getTrailers()).isEmpty();
    if (bare && answered.getStatus().getCode() == Status.Code.UNAVAILABLE) {
      return unreachable(why(answered.getStatus()), answered);
    }
    return WireErrors.failure(answered.getStatus(), answered.getTrailers());
  }

  /** gRPC's own description is "io exception"; what the operator needs to read is its cause. */
  private static String why(Status status) {
    Throwable cause = status.getCause();
    String described = String.valueOf(status.getDescription());
    return cause == null ? described : described + ": " + cause.getMessage();
  }

  private RelayException unreachable(String why, @Nullable Throwable cause) {
    RelayErrorReason reason = RelayErrorReason.ADDRESS_UNAVAILABLE;
    return new RelayException(
        reason, reason.action(), "address = " + address.toUri() + ": " + why, cause);
  }
}
