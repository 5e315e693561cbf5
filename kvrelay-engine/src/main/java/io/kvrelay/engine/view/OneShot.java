package io.kvrelay.engine.view;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Takes one value from a publisher and cancels; a publisher that throws then changes nothing. */
final class OneShot<T> implements Flow.Subscriber<T> {
  private final CompletableFuture<T> value = new CompletableFuture<>();
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean cancelled;

  private OneShot() {}

  static <T> OneShot<T> of(Flow.Publisher<T> publisher) {
    OneShot<T> subscriber = new OneShot<>();
    try {
      publisher.subscribe(subscriber);
    } catch (RuntimeException | Error e) {
      subscriber.value.completeExceptionally(e);
    }
    return subscriber;
  }

  /** The value; fails with what the publisher failed with. */
  CompletionStage<T> value() {
    return value;
  }

  /** Gives up: the value may never come. */
  void cancel() {
    cancelled = true;
    Flow.Subscription s = subscription;
    if (s != null) {
      StreamPlane.cancel(s);
    }
  }

  @Override
  public void onSubscribe(Flow.Subscription s) {
    if (subscription != null) {
      StreamPlane.cancel(s);
      return;
    }
    subscription = s;
    if (cancelled) {
      StreamPlane.cancel(s);
      return;
    }
    try {
      s.request(1);
    } catch (RuntimeException | Error e) {
      value.completeExceptionally(e);
    }
  }

  @Override
  public void onNext(T item) {
    Flow.Subscription s = subscription;
    if (s != null) {
      StreamPlane.cancel(s);
    }
    value.complete(item);
  }

  @Override
  public void onError(Throwable failure) {
    value.completeExceptionally(failure);
  }

  @Override
  public void onComplete() {
    value.completeExceptionally(new IllegalStateException("the stream ended without a value"));
  }
}
