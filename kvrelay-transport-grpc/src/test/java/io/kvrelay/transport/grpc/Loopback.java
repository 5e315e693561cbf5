package io.kvrelay.transport.grpc;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.TransportLimits;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ScriptedPool;
import io.kvrelay.testkit.transport.ScriptedSource;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A source, a runtime, and whatever a test opens on them; closes everything in reverse order. */
final class Loopback {
  static final RelayIdentity RELAY = new RelayIdentity(0x11, 0x17);
  static final ProducerIdentity POOL = Fixtures.producer(Fixtures.pool(0x11), 1, 16);
  static final Duration LONG = Duration.ofHours(1);

  final SystemRuntime runtime = SystemRuntime.create(4);
  final ScriptedSource source = new ScriptedSource(RELAY, runtime);
  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  static TransportLimits.Builder quiet() {
    return TransportLimits.builder()
        .catalogHeartbeatInterval(LONG)
        .readinessHeartbeatInterval(LONG)
        .poolHeartbeatInterval(LONG)
        .loadWindow(LONG);
  }

  ScriptedPool addPool(ProducerIdentity producer, long sequence) {
    return source.addPool(Fixtures.descriptor(producer), Fixtures.snapshot(producer, sequence), 64);
  }

  ExportOptions exportOptions() {
    return ExportOptions.defaults(runtime).withLimits(quiet().build());
  }

  GrpcRelayExport export() {
    return export(exportOptions());
  }

  GrpcRelayExport export(ExportOptions options) {
    return closing(new GrpcTransport().export(source, URI.create("grpc://127.0.0.1:0"), options));
  }

  ConnectOptions connectOptions() {
    return ConnectOptions.defaults(runtime);
  }

  GrpcConnectedSource connect(URI address) {
    return connect(address, connectOptions());
  }

  GrpcConnectedSource connect(URI address, ConnectOptions options) {
    try {
      return closing(
          (GrpcConnectedSource)
              new GrpcTransport()
                  .connect(address, options)
                  .toCompletableFuture()
                  .orTimeout(5, TimeUnit.SECONDS)
                  .join());
    } catch (CompletionException e) {
      if (e.getCause() instanceof RelayException failure) {
        throw failure;
      }
      throw e;
    }
  }

  RelayException connectFailure(URI address) {
    try {
      connect(address);
    } catch (RelayException e) {
      return e;
    }
    throw new AssertionError("connected to " + address);
  }

  /** A plain channel of somebody else's client. */
  ManagedChannel channel(URI address) {
    return channel(
        NettyChannelBuilder.forAddress("127.0.0.1", address.getPort())
            .usePlaintext()
            .maxInboundMessageSize(8 << 20));
  }

  ManagedChannel channel(NettyChannelBuilder builder) {
    ManagedChannel channel = builder.build();
    open.push(
        () -> {
          channel.shutdownNow();
          channel.awaitTermination(5, TimeUnit.SECONDS);
        });
    return channel;
  }

  <T extends AutoCloseable> T closing(T resource) {
    open.push(resource);
    return resource;
  }

  static PoolCatalog catalog(long revision) {
    return new PoolCatalog(revision, java.util.List.of(Fixtures.descriptor(POOL)));
  }

  /** Waits until what was submitted to a runtime so far has run. */
  static void drain(SystemRuntime runtime) {
    java.util.concurrent.CompletableFuture.runAsync(() -> {}, runtime.executor()).join();
  }

  static void eventually(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("did not come true in 5 s");
      }
      Thread.onSpinWait();
    }
  }

  void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
    runtime.close();
  }
}
