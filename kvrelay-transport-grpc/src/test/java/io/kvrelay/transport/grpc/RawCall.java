package io.kvrelay.transport.grpc;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.kvrelay.api.RelayErrorReason;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One call of a method with bytes for messages, as a client of any make could send them. */
final class RawCall extends ClientCall.Listener<byte[]> {
  static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  record End(Status status, Metadata trailers) {
    Optional<RelayErrorReason> reason() {
      return WireErrors.reason(trailers);
    }
  }

  final CompletableFuture<Metadata> headers = new CompletableFuture<>();
  final LinkedBlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
  final CompletableFuture<End> end = new CompletableFuture<>();
  final ClientCall<byte[], byte[]> call;

  private RawCall(Channel channel, String method) {
    this.call = channel.newCall(method(method), CallOptions.DEFAULT);
  }

  static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.newBuilder(BYTES, BYTES)
        .setType(
            name.equals("GetRelayInfo")
                ? MethodDescriptor.MethodType.UNARY
                : MethodDescriptor.MethodType.SERVER_STREAMING)
        .setFullMethodName(KvRelayWire.SERVICE_NAME + "/" + name)
        .build();
  }

  /** Starts without sending anything. */
  static RawCall open(Channel channel, String method) {
    RawCall raw = new RawCall(channel, method);
    raw.call.start(raw, new Metadata());
    return raw;
  }

  /** Sends one request and half-closes. */
  static RawCall send(Channel channel, String method, byte[] request) {
    RawCall raw = open(channel, method);
    raw.call.sendMessage(request);
    raw.call.halfClose();
    return raw;
  }

  RawCall request(int n) {
    call.request(n);
    return this;
  }

  byte[] next() {
    try {
      byte[] message = messages.poll(5, TimeUnit.SECONDS);
      if (message == null) {
        throw new AssertionError(end.isDone() ? "ended: " + end.join() : "no message in 5 s");
      }
      return message;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  End end() {
    try {
      return end.get(5, TimeUnit.SECONDS);
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      throw new AssertionError("no end in 5 s", e);
    }
  }

  @Override
  public void onHeaders(Metadata received) {
    headers.complete(received);
  }

  @Override
  public void onMessage(byte[] message) {
    messages.add(message);
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    end.complete(new End(status, trailers));
  }
}
