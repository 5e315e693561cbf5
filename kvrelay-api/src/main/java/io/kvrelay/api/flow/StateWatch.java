package io.kvrelay.api.flow;

import io.kvrelay.api.runtime.SerialTask;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A conflating publisher of whole states. Each subscriber first gets the current value, then the
 * latest one whenever it was published since and the subscriber has asked for it. Publishing an
 * equal value again is a repeat and is delivered like any other. Costs one reference per
 * subscriber, however slow the subscriber is.
 *
 * <p>Thread safe; publishing never blocks and never calls a subscriber on the caller's thread.
 *
 * @param <T> an immutable state
 */
public final class StateWatch<T> implements Flow.Publisher<T> {
  /** What is published; version 0 is before the first value. */
  private record State<T>(
      @Nullable T value, long version, boolean ended, @Nullable Throwable failure) {}

  private final Executor executor;
  private final List<Watcher> watchers = new CopyOnWriteArrayList<>();
  private volatile State<T> state;

  /**
   * Creates a watch.
   *
   * @param executor where subscribers are called, serially per subscriber
   * @param initial the first value
   */
  public StateWatch(Executor executor, T initial) {
    this.executor = executor;
    this.state = new State<>(initial, 1, false, null);
  }

  /**
   * Creates a watch that has no value yet: its subscribers wait for the first.
   *
   * @param executor where subscribers are called, serially per subscriber
   */
  public StateWatch(Executor executor) {
    this.executor = executor;
    this.state = new State<>(null, 0, false, null);
  }

  /**
   * The latest value.
   *
   * @return the value
   * @throws IllegalStateException before the first value
   */
  public T value() {
    T value = state.value();
    if (value == null) {
      throw new IllegalStateException("no value was published yet");
    }
    return value;
  }

  /**
   * Whether there is a value.
   *
   * @return false before the first value
   */
  public boolean hasValue() {
    return state.version() != 0;
  }

  /**
   * Number of open subscriptions.
   *
   * @return subscriptions
   */
  public int subscribers() {
    return watchers.size();
  }

  /**
   * Publishes a value. Ignored once the watch has ended.
   *
   * @param value the value
   */
  public void publish(T value) {
    synchronized (this) {
      State<T> current = state;
      if (current.ended()) {
        return;
      }
      state = new State<>(value, current.version() + 1, false, null);
    }
    watchers.forEach(Watcher::wake);
  }

  /**
   * Completes all subscriptions, present and future, after the latest value for those who have
   * asked for it.
   */
  public void complete() {
    end(null);
  }

  /**
   * Fails all subscriptions, present and future.
   *
   * @param failure the error
   */
  public void fail(Throwable failure) {
    end(failure);
  }

  private void end(@Nullable Throwable failure) {
    synchronized (this) {
      State<T> current = state;
      if (current.ended()) {
        return;
      }
      state = new State<>(current.value(), current.version(), true, failure);
    }
    watchers.forEach(Watcher::wake);
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    Objects.requireNonNull(subscriber, "subscriber");
    Watcher watcher = new Watcher(subscriber);
    watchers.add(watcher);
    watcher.wake();
  }

  private final class Watcher implements Flow.Subscription {
    private final SerialTask run = new SerialTask(executor, this::run);
    private final Demand demand = new Demand();
    // Dropped on cancel so that a finished subscription does not keep its subscriber reachable
    // (Reactive Streams §3.13).
    private volatile Flow.@Nullable Subscriber<? super T> subscriber;
    private boolean introduced;
    private long seenVersion;

    private Watcher(Flow.Subscriber<? super T> subscriber) {
      this.subscriber = subscriber;
    }

    private void wake() {
      run.wake();
    }

    @Override
    public void request(long n) {
      demand.add(n);
      wake();
    }

    @Override
    public void cancel() {
      subscriber = null;
      watchers.remove(this);
    }

    /** Whoever woke it first, onSubscribe is the first signal. */
    private void run() {
      Flow.Subscriber<? super T> s = subscriber;
      if (s != null && !introduced) {
        introduced = true;
        guarded(() -> s.onSubscribe(this));
      }
      deliver();
    }

    private void deliver() {
      Flow.Subscriber<? super T> s = subscriber;
      if (s == null) {
        return;
      }
      IllegalArgumentException fault = demand.fault();
      if (fault != null) {
        cancel();
        guarded(() -> s.onError(fault));
        return;
      }
      State<T> latest = state;
      if (latest.version() != seenVersion && latest.failure() == null && demand.tryTake()) {
        seenVersion = latest.version();
        guarded(() -> s.onNext(Objects.requireNonNull(latest.value())));
      }
      if (latest.ended() && subscriber != null) {
        cancel();
        Throwable failure = latest.failure();
        guarded(failure == null ? s::onComplete : () -> s.onError(failure));
      }
    }

    /**
     * A subscriber that throws has broken the rules and is dropped; nobody else notices (Reactive
     * Streams §2.13).
     */
    private void guarded(Runnable signal) {
      try {
        signal.run();
      } catch (RuntimeException | Error e) {
        cancel();
        throw e;
      }
    }
  }
}
