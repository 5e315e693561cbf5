package io.kvrelay.transport.grpc;

import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCredentials;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.TransportLimits;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A running server, its load publisher and its supervision. */
final class GrpcExport implements GrpcRelayExport {
  private static final long CLOSE_SECONDS = 4;

  /** How long connections may take to say goodbye. */
  private static final long CUT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private static final long PERMITTED_PING_SECONDS = 1;

  private final StreamContext context;
  private final LoadPublisher windows;
  private final HealthStatusManager health = new HealthStatusManager();
  private final ServerLoops loops = new ServerLoops();
  private final Server server;
  private final URI address;
  private final AtomicBoolean stopped = new AtomicBoolean();
  private volatile @Nullable Throwable lastError;

  private GrpcExport(StreamContext context, GrpcAddress wanted, ExportOptions options) {
    this.context = context;
    this.windows = new LoadPublisher(context, this::stop);
    this.server = bind(builder(wanted, options), wanted);
    this.address = wanted.withPort(server.getPort()).toUri();
  }

  /** Binds, then reports health, then starts the load windows and the supervision. */
  static GrpcExport start(
      RelayPublicationSource source, GrpcAddress address, ExportOptions options) {
    StreamContext context =
        new StreamContext(
            source, options.runtime(), options.limits(), GrpcTransport.compression(options));
    GrpcExport export = new GrpcExport(context, address, options);
    export.health.setStatus(KvRelayWire.SERVICE_NAME, ServingStatus.SERVING);
    export.windows.start();
    source.shutdown().whenComplete((done, never) -> export.stop(null));
    return export;
  }

  private ServerBuilder<?> builder(GrpcAddress wanted, ExportOptions options) {
    InetSocketAddress socket = new InetSocketAddress(wanted.host(), wanted.port());
    if (socket.isUnresolved()) {
      throw unavailable(wanted, "unknown host", null);
    }
    ServerCredentials credentials =
        GrpcTransport.attribute(
            options.attributes(), GrpcTransport.SERVER_CREDENTIALS, ServerCredentials.class);
    TransportLimits limits = options.limits();
    ServerBuilder<?> builder =
        loops
            .applyTo(
                NettyServerBuilder.forAddress(
                    socket, credentials == null ? InsecureServerCredentials.create() : credentials))
            .executor(options.runtime().executor())
            .maxInboundMessageSize(limits.maxMessageBytes())
            .keepAliveTime(Nanos.of(limits.keepaliveInterval()), TimeUnit.NANOSECONDS)
            .keepAliveTimeout(Nanos.of(limits.keepaliveTimeout()), TimeUnit.NANOSECONDS)
            .permitKeepAliveTime(PERMITTED_PING_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .compressorRegistry(context.compression().compressors())
            .decompressorRegistry(context.compression().decompressors())
            .addService(new RelayService(context, windows).definition())
            .addService(health.getHealthService())
            .addService(ProtoReflectionServiceV1.newInstance());
    UnaryOperator<ServerBuilder<?>> hook = GrpcTransport.serverHook(options);
    return hook.apply(builder);
  }

  private static Server bind(ServerBuilder<?> builder, GrpcAddress wanted) {
    try {
      return builder.build().start();
    } catch (IOException e) {
      Throwable cause = e.getCause();
      String why = cause == null ? "" : ": " + cause.getMessage();
      throw unavailable(wanted, e.getMessage() + why, e);
    }
  }

  private static RelayException unavailable(
      GrpcAddress wanted, String why, @Nullable Throwable cause) {
    RelayErrorReason reason = RelayErrorReason.ADDRESS_UNAVAILABLE;
    return new RelayException(
        reason, reason.action(), "address = " + wanted.toUri() + ": " + why, cause);
  }

  @Override
  public URI address() {
    return address;
  }

  @Override
  public boolean isServing() {
    return !stopped.get() && !server.isShutdown();
  }

  @Override
  public @Nullable Throwable lastError() {
    return lastError;
  }

  @Override
  public GrpcExportStatistics statistics() {
    return context.statistics();
  }

  /** Ends streams in order, then cuts every connection: slow and silent peers hold nothing up. */
  private void stop(@Nullable Throwable failure) {
    if (!stopped.compareAndSet(false, true)) {
      return;
    }
    lastError = failure;
    health.enterTerminalState();
    windows.stop();
    context.finishAll();
    server.shutdownNow();
    var unused = context.runtime().schedule(CUT_NANOS, loops::stop);
  }

  @Override
  public void close() {
    stop(null);
    try {
      server.awaitTermination(CUT_NANOS, TimeUnit.NANOSECONDS);
      loops.stop();
      server.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
