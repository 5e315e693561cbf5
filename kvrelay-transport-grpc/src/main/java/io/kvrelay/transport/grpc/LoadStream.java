package io.kvrelay.transport.grpc;

import io.grpc.ServerCall;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;

/**
 * One subscriber of the load windows: the current one at once, then each later one. It keeps a
 * position, not a queue; the windows it has not taken yet stand in the publisher's ring, and more
 * of them than the ring holds end it.
 */
final class LoadStream extends CallStream<KvPoolLoadUpdate> {
  private final LoadPublisher windows;
  private long next;

  LoadStream(StreamContext context, ServerCall<?, KvPoolLoadUpdate> call, LoadPublisher windows) {
    super(context, StreamKind.LOAD, call);
    this.windows = windows;
    this.next = Math.max(0, windows.head());
  }

  @Override
  public void onReady() {
    drain();
  }

  void onWindow() {
    drain();
  }

  private void drain() {
    boolean lagged;
    synchronized (lock) {
      KvPoolLoadUpdate window = windows.at(next);
      while (window != null && isWritable()) {
        send(window, window.getSerializedSize());
        next++;
        window = windows.at(next);
      }
      lagged = !isEnded() && windows.head() - next >= windows.capacity();
    }
    if (lagged) {
      fail(
          RelayErrorReason.SUBSCRIBER_LAGGED,
          "more than " + windows.capacity() + " load windows behind");
      release();
    }
  }

  @Override
  void release() {
    windows.leave(this);
  }
}
