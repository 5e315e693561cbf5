package io.kvrelay.transport.inproc;

import io.kvrelay.api.flow.StateWatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An export's own copy of one of its source's watches: one subscription at the source, whatever the
 * number of clients. Subscribers that come before the first value wait for it.
 */
final class StateMirror<T> implements Flow.Publisher<T>, Flow.Subscriber<T>, AutoCloseable {
  private final Consumer<@Nullable Throwable> whenEnded;
  private final StateWatch<T> watch;
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean closed;

  StateMirror(Executor executor, Consumer<@Nullable Throwable> whenEnded) {
    this.whenEnded = whenEnded;
    this.watch = new StateWatch<>(executor);
  }

  /** The latest value, or null before the first. */
  @Nullable T value() {
    return watch.hasValue() ? watch.value() : null;
  }

  /** Open subscriptions, those that wait for the first value included. */
  int subscribers() {
    return watch.subscribers();
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    watch.subscribe(subscriber);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (closed) {
      given.cancel();
    } else {
      given.request(Long.MAX_VALUE);
    }
  }

  @Override
  public void onNext(T value) {
    watch.publish(value);
  }

  @Override
  public void onError(Throwable error) {
    watch.fail(error);
    whenEnded.accept(error);
  }

  @Override
  public void onComplete() {
    if (watch.hasValue()) {
      watch.complete();
    } else {
      watch.fail(InprocConnection.unavailable("the source has ended"));
    }
    whenEnded.accept(null);
  }

  /** Lets go of the source. */
  @Override
  public void close() {
    closed = true;
    Flow.Subscription held = subscription;
    if (held != null) {
      held.cancel();
    }
  }
}
