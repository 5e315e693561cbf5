package io.kvrelay.transport.grpc;

import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.ServerCredentials;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransport;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Scheme {@code grpc}: the wire contract {@code dynamo.kvrelay.v1} under {@code grpc://HOST:PORT}.
 *
 * <p>Both ends speak plaintext HTTP/2 without authentication unless they are given credentials. For
 * an export, port 0 takes any free port and a wildcard host listens on every interface; {@link
 * io.kvrelay.api.transport.RelayExport#address()} shows what was bound. There is no default address
 * and no default port.
 *
 * <p>Callbacks of both ends run on the executor of the runtime that the options carry; I/O runs on
 * gRPC's own shared event loops. zstd is used where its library is on the class path and the peer
 * knows it, see {@link #ZSTD}.
 *
 * <p>Thread safe. {@link #export} blocks until the socket is bound, {@link #connect} does not
 * block.
 */
public final class GrpcTransport implements RelayTransport {
  /** Attribute of an export: {@link ServerCredentials}. Absent means plaintext. */
  public static final String SERVER_CREDENTIALS = "grpc.server-credentials";

  /** Attribute of a connection: {@link ChannelCredentials}. Absent means plaintext. */
  public static final String CHANNEL_CREDENTIALS = "grpc.channel-credentials";

  /**
   * Attribute of both: a {@link Boolean}. False keeps zstd out even where its library is on the
   * class path. Compression costs a core's time and pays where the network is slower than that; an
   * almost empty filter shrinks a hundredfold, a full one hardly at all.
   */
  public static final String ZSTD = "grpc.zstd";

  private static final String SERVER_BUILDER = "grpc.server-builder";
  private static final String CHANNEL_BUILDER = "grpc.channel-builder";

  /** Creates the transport; it has no state. */
  public GrpcTransport() {}

  @Override
  public String scheme() {
    return GrpcAddress.SCHEME;
  }

  /**
   * {@inheritDoc}
   *
   * @return a {@link GrpcRelayExport}
   */
  @Override
  public GrpcRelayExport export(RelayPublicationSource source, URI address, ExportOptions options) {
    return GrpcExport.start(source, GrpcAddress.parse(address), options);
  }

  /**
   * {@inheritDoc}
   *
   * @return a stage with a {@link GrpcConnectedSource}
   */
  @Override
  public CompletionStage<ConnectedSource> connect(URI address, ConnectOptions options) {
    try {
      return GrpcConnector.connect(GrpcAddress.parse(address), options);
    } catch (RelayException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Lets a host finish the server: interceptors, an executor, limits of its own. The hook gets a
   * Netty builder (of gRPC's shaded artifact) on which everything is already set, and returns the
   * builder to use.
   *
   * @param options settings to extend
   * @param hook called once, before the server is built
   * @return the extended settings
   */
  public static ExportOptions withServerBuilder(
      ExportOptions options, UnaryOperator<ServerBuilder<?>> hook) {
    return options.with(SERVER_BUILDER, new ServerHook(hook));
  }

  /**
   * Lets a host finish the channel: interceptors, an authority, a proxy. The hook gets a Netty
   * builder (of gRPC's shaded artifact) on which everything is already set, and returns the builder
   * to use.
   *
   * @param options settings to extend
   * @param hook called once, before the channel is built
   * @return the extended settings
   */
  public static ConnectOptions withChannelBuilder(
      ConnectOptions options, UnaryOperator<ManagedChannelBuilder<?>> hook) {
    return options.with(CHANNEL_BUILDER, new ChannelHook(hook));
  }

  /** A typed box: an attribute's generic type does not survive the map. */
  private record ServerHook(UnaryOperator<ServerBuilder<?>> hook) {}

  private record ChannelHook(UnaryOperator<ManagedChannelBuilder<?>> hook) {}

  static UnaryOperator<ServerBuilder<?>> serverHook(ExportOptions options) {
    ServerHook box = attribute(options.attributes(), SERVER_BUILDER, ServerHook.class);
    return box == null ? UnaryOperator.identity() : box.hook();
  }

  static UnaryOperator<ManagedChannelBuilder<?>> channelHook(ConnectOptions options) {
    ChannelHook box = attribute(options.attributes(), CHANNEL_BUILDER, ChannelHook.class);
    return box == null ? UnaryOperator.identity() : box.hook();
  }

  static Compression compression(ExportOptions options) {
    return compression(options.attributes());
  }

  static Compression compression(ConnectOptions options) {
    return compression(options.attributes());
  }

  private static Compression compression(Map<String, Object> attributes) {
    Boolean wanted = attribute(attributes, ZSTD, Boolean.class);
    return Boolean.FALSE.equals(wanted) ? Compression.identity() : Compression.detected();
  }

  static <T> @Nullable T attribute(Map<String, Object> attributes, String key, Class<T> type) {
    Object value = attributes.get(key);
    if (value == null || type.isInstance(value)) {
      return type.cast(value);
    }
    throw new RelayException(
        RelayErrorReason.INVALID_CONFIGURATION,
        key + " = " + value + ": must be a " + type.getName());
  }
}
