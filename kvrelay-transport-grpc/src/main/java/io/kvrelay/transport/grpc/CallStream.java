package io.kvrelay.transport.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.kvrelay.api.RelayErrorReason;

/**
 * What every admitted stream has: a call to write to, and a permit that it gives back once the call
 * is over. A call is not thread safe, so each use of it holds {@link #lock}; signals come from the
 * source, from timers and from the transport.
 */
abstract class CallStream<M> implements ResponseStream {
  private static final int COMPRESSION_THRESHOLD_BYTES = 1024;

  /** Guards the call and every field of this class and its subclasses. */
  final Object lock = new Object();

  final StreamContext context;
  final StreamKind kind;
  private final ServerCall<?, M> call;
  private boolean headersSent;
  private boolean ended;

  CallStream(StreamContext context, StreamKind kind, ServerCall<?, M> call) {
    this.context = context;
    this.kind = kind;
    this.call = call;
  }

  /** Whether the transport takes another message now. Lock held. */
  final boolean isWritable() {
    return !ended && call.isReady();
  }

  /** Lock held. */
  final boolean isEnded() {
    return ended;
  }

  /** Writes a message; headers go out with the first. Lock held. */
  final void send(M message, int bytes) {
    if (ended) {
      return;
    }
    if (bytes > context.limits().maxMessageBytes()) {
      context.counters().oversizedMessage();
      end(
          Status.OUT_OF_RANGE.withDescription(
              "message of " + bytes + " bytes: limit " + context.limits().maxMessageBytes()),
          new Metadata());
      return;
    }
    if (!headersSent) {
      headersSent = true;
      context.compression().offerOn(call);
      call.sendHeaders(new Metadata());
    }
    call.setMessageCompression(bytes >= COMPRESSION_THRESHOLD_BYTES);
    call.sendMessage(message);
  }

  /** Ends the stream with a reason of the contract. Takes the lock. */
  final void fail(RelayErrorReason reason, String text) {
    if (reason == RelayErrorReason.SUBSCRIBER_LAGGED) {
      context.counters().lagged(kind);
    } else if (reason == RelayErrorReason.RESOURCE_LIMIT) {
      context.counters().limitRejected(kind);
    }
    synchronized (lock) {
      end(
          Status.fromCode(WireErrors.code(reason)).withDescription(text),
          WireErrors.trailers(reason));
    }
  }

  /** Ends the stream as its source failed. Takes the lock. */
  final void failAs(Throwable failure) {
    fail(WireErrors.ofSource(failure), String.valueOf(failure.getMessage()));
  }

  @Override
  public void finish() {
    synchronized (lock) {
      end(Status.OK, new Metadata());
    }
    release();
  }

  private void end(Status status, Metadata trailers) {
    if (!ended) {
      ended = true;
      call.close(status, trailers);
    }
  }

  @Override
  public void onDropped() {
    synchronized (lock) {
      ended = true;
    }
    release();
    context.closed(this);
  }

  /** Stops timers and upstream subscriptions. Called without the lock, possibly more than once. */
  abstract void release();
}
