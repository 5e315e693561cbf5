package io.kvrelay.transport.grpc;

import io.grpc.ServerCall;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A stream fed by a publisher of the source. It asks for one item at a time, and only when the
 * transport can take it: behind a client that does not read stand the transport's own buffer and
 * whatever the source bounds, nothing else.
 */
abstract class FlowStream<T, M> extends CallStream<M> implements Flow.Subscriber<T> {
  private Flow.@Nullable Subscription upstream;
  private boolean requested;

  FlowStream(StreamContext context, StreamKind kind, ServerCall<?, M> call) {
    super(context, kind, call);
  }

  /** Writes what an item becomes. Lock held. */
  abstract void write(T item);

  /** Writes what is due although no item came. Lock held, the transport is ready. */
  abstract void writeDue();

  @Override
  public final void onSubscribe(Flow.Subscription subscription) {
    boolean late;
    synchronized (lock) {
      late = isEnded() || upstream != null;
      if (!late) {
        upstream = subscription;
      }
    }
    if (late) {
      subscription.cancel();
    } else {
      pull();
    }
  }

  @Override
  public final void onReady() {
    synchronized (lock) {
      if (isWritable()) {
        writeDue();
      }
    }
    pull();
  }

  private void pull() {
    Flow.Subscription from;
    synchronized (lock) {
      from = upstream;
      if (requested || from == null || !isWritable()) {
        return;
      }
      requested = true;
    }
    from.request(1);
  }

  @Override
  public final void onNext(T item) {
    boolean over;
    synchronized (lock) {
      requested = false;
      if (!isEnded()) {
        write(item);
      }
      over = isEnded();
    }
    if (over) {
      release();
    } else {
      pull();
    }
  }

  @Override
  public final void onError(Throwable failure) {
    failAs(failure);
    stopTimers();
  }

  @Override
  public final void onComplete() {
    finish();
  }

  @Override
  final void release() {
    Flow.Subscription from;
    synchronized (lock) {
      from = upstream;
    }
    if (from != null) {
      from.cancel();
    }
    stopTimers();
  }

  abstract void stopTimers();
}
