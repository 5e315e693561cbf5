package io.kvrelay.transport.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/**
 * The receiving side of a call with one request: hands the request on once it is complete, then
 * passes on what the transport says. gRPC calls a listener serially.
 */
final class StreamCall<Q, R> extends ServerCall.Listener<Received<Q>> {
  /** Answers a request: opens a stream, or ends the call and returns null. */
  interface Handler<Q, R> {
    @Nullable ResponseStream open(Q request, ServerCall<Received<Q>, R> call);
  }

  private final ServerCall<Received<Q>, R> call;
  private final Handler<Q, R> handler;
  private @Nullable Received<Q> request;
  private @Nullable ResponseStream stream;
  private boolean closed;

  StreamCall(ServerCall<Received<Q>, R> call, Handler<Q, R> handler) {
    this.call = call;
    this.handler = handler;
    call.request(2); // one more than there should be, so that a surplus message is noticed
  }

  @Override
  public void onMessage(Received<Q> message) {
    if (request == null) {
      request = message;
    } else {
      refuse("more than one request message");
    }
  }

  @Override
  public void onHalfClose() {
    Received<Q> received = request;
    if (closed) {
      return;
    }
    if (received == null) {
      refuse("no request message");
      return;
    }
    Q message = received.message();
    if (message == null) {
      refuse("the request message does not decode");
      return;
    }
    stream = handler.open(message, call);
  }

  /** Not a contract error but one of the RPC itself, so without a reason. */
  private void refuse(String why) {
    if (!closed) {
      closed = true;
      call.close(Status.INTERNAL.withDescription(why), new Metadata());
    }
  }

  @Override
  public void onReady() {
    if (stream != null) {
      stream.onReady();
    }
  }

  @Override
  public void onCancel() {
    dropped();
  }

  @Override
  public void onComplete() {
    dropped();
  }

  private void dropped() {
    closed = true;
    if (stream != null) {
      stream.onDropped();
    }
  }
}
