package io.kvrelay.transport.grpc;

import com.google.protobuf.MessageLite;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogSnapshot;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.RelayInfo;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A server of another make that answers with whatever bytes a test gives it. Unless told otherwise
 * it answers relay info and an empty catalog as it should.
 */
final class FakeServer implements AutoCloseable {
  /** Answers a call after its request came. */
  interface Answer {
    void to(Peer peer);
  }

  /** The server's side of a call. */
  static final class Peer {
    private final ServerCall<byte[], byte[]> call;
    final byte[] request;

    private Peer(ServerCall<byte[], byte[]> call, byte[] request) {
      this.call = call;
      this.request = request;
      call.sendHeaders(new Metadata());
    }

    Peer send(MessageLite message) {
      return send(message.toByteArray());
    }

    Peer send(byte[] message) {
      call.sendMessage(message);
      return this;
    }

    void close(Status status, String reason) {
      Metadata trailers = new Metadata();
      if (reason != null) {
        trailers.put(WireErrors.REASON_TRAILER, reason);
      }
      call.close(status, trailers);
    }
  }

  private final Map<String, Answer> answers = new ConcurrentHashMap<>();
  private final Server server;

  FakeServer() throws IOException {
    answers.put("GetRelayInfo", peer -> peer.send(info()).close(Status.OK, null));
    answers.put("WatchKvPoolCatalog", peer -> peer.send(catalog().build()));
    ServiceDescriptor.Builder service = ServiceDescriptor.newBuilder(KvRelayWire.SERVICE_NAME);
    Map<String, MethodDescriptor<byte[], byte[]>> methods = new HashMap<>();
    for (String name :
        new String[] {
          "GetRelayInfo",
          "WatchKvPoolCatalog",
          "SubscribeKvPool",
          "SubscribeServingReadiness",
          "SubscribeKvPoolLoad"
        }) {
      MethodDescriptor<byte[], byte[]> method = RawCall.method(name);
      methods.put(name, method);
      service.addMethod(method);
    }
    ServerServiceDefinition.Builder definition = ServerServiceDefinition.builder(service.build());
    methods.forEach(
        (name, method) -> definition.addMethod(method, (call, headers) -> listener(name, call)));
    server =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                InsecureServerCredentials.create())
            .maxInboundMessageSize(64 << 20)
            .addService(definition.build())
            .build()
            .start();
  }

  private ServerCall.Listener<byte[]> listener(String name, ServerCall<byte[], byte[]> call) {
    call.request(1);
    return new ServerCall.Listener<>() {
      @Override
      public void onMessage(byte[] request) {
        Answer answer = answers.get(name);
        if (answer == null) {
          call.close(Status.UNIMPLEMENTED, new Metadata());
        } else {
          answer.to(new Peer(call, request));
        }
      }
    };
  }

  static RelayInfo info() {
    return RelayInfo.newBuilder()
        .setContractMarker(KvRelayWire.CONTRACT_MARKER)
        .setProtocolVersion(1)
        .setRelay(KvRelayWire.toWire(Loopback.RELAY))
        .build();
  }

  static KvPoolCatalogUpdate.Builder catalog() {
    return KvPoolCatalogUpdate.newBuilder()
        .setContractMarker(KvRelayWire.CONTRACT_MARKER)
        .setProtocolVersion(1)
        .setRelay(KvRelayWire.toWire(Loopback.RELAY))
        .setSnapshot(KvPoolCatalogSnapshot.getDefaultInstance());
  }

  FakeServer answer(String method, Answer answer) {
    answers.put(method, answer);
    return this;
  }

  URI address() {
    return URI.create("grpc://127.0.0.1:" + server.getPort());
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
