package io.kvrelay.cli;

import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Hands the signals of a stream to one thread, and asks the stream for no more than that thread has
 * dealt with: who prints slowly gets less, and nothing piles up here.
 *
 * @param <T> what the stream carries
 */
final class Tap<T> implements Flow.Subscriber<T> {
  private static final int WINDOW = 64;

  private final Executor inbox;
  private final Function<T, Runnable> onArrival;
  private final Consumer<@Nullable Throwable> onEnd;
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean cancelled;

  /**
   * Creates a tap.
   *
   * @param inbox runs everything on the one thread
   * @param onArrival called at once, on the stream's thread; what it returns runs on the one thread
   * @param onEnd called on the one thread, unless the tap was cancelled; with a failure, or null
   */
  Tap(Executor inbox, Function<T, Runnable> onArrival, Consumer<@Nullable Throwable> onEnd) {
    this.inbox = inbox;
    this.onArrival = onArrival;
    this.onEnd = onEnd;
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    this.subscription = subscription;
    if (cancelled) {
      subscription.cancel();
    } else {
      subscription.request(WINDOW);
    }
  }

  @Override
  public void onNext(T item) {
    Runnable work = onArrival.apply(item);
    inbox.execute(
        () -> {
          Flow.Subscription current = subscription;
          if (!cancelled && current != null) {
            work.run();
            current.request(1);
          }
        });
  }

  @Override
  public void onError(Throwable failure) {
    end(failure);
  }

  @Override
  public void onComplete() {
    end(null);
  }

  private void end(@Nullable Throwable failure) {
    inbox.execute(
        () -> {
          if (!cancelled) {
            cancelled = true;
            onEnd.accept(failure);
          }
        });
  }

  /** Ends the stream; nothing of it is handed on any more. */
  void cancel() {
    cancelled = true;
    Flow.Subscription current = subscription;
    if (current != null) {
      current.cancel();
    }
  }
}
