package io.kvrelay.transport.inproc;

import io.kvrelay.api.flow.StateWatch;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An export's own copy of one of its source's watches: one subscription at the source, whatever the
 * number of clients. Subscribers that come before the first value wait for it.
 */
final class StateMirror<T> implements Flow.Publisher<T>, Flow.Subscriber<T>, AutoCloseable {
  private final Executor executor;
  private final Consumer<@Nullable Throwable> whenEnded;
  private final CompletableFuture<StateWatch<T>> watch = new CompletableFuture<>();
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean closed;

  StateMirror(Executor executor, Consumer<@Nullable Throwable> whenEnded) {
    this.executor = executor;
    this.whenEnded = whenEnded;
  }

  /** The latest value, or null before the first. */
  @Nullable T value() {
    StateWatch<T> known = watch.getNow(null);
    return known == null ? null : known.value();
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    CompletionStage<StateWatch<T>> first = watch;
    first.whenComplete(
        (known, error) -> {
          StateWatch<T> from = known;
          if (from == null) {
            from = endedBeforeItBegan(error);
          }
          from.subscribe(subscriber);
        });
  }

  @SuppressWarnings("NullAway") // the value of a watch that has failed is never delivered
  private StateWatch<T> endedBeforeItBegan(Throwable error) {
    StateWatch<T> ended = new StateWatch<>(executor, null);
    ended.fail(error);
    return ended;
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
    StateWatch<T> known = watch.getNow(null);
    if (known == null) {
      watch.complete(new StateWatch<>(executor, value));
    } else {
      known.publish(value);
    }
  }

  @Override
  public void onError(Throwable error) {
    StateWatch<T> known = watch.getNow(null);
    if (known == null) {
      watch.completeExceptionally(error);
    } else {
      known.fail(error);
    }
    whenEnded.accept(error);
  }

  @Override
  public void onComplete() {
    StateWatch<T> known = watch.getNow(null);
    if (known == null) {
      watch.completeExceptionally(InprocConnection.unavailable("the source has ended"));
    } else {
      known.complete();
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
