package io.kvrelay.engine.view;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A publisher that does what a test says, signal by signal, within the demand unless told not to.
 */
final class ScriptedPublisher<T> implements Flow.Publisher<T> {
  /** Every subscription ever made, in order. */
  final List<Sub> subs = new ArrayList<>();

  /** What happens to a new subscription; nothing by default. */
  Consumer<Sub> onSubscribe = sub -> {};

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    Sub sub = new Sub(subscriber);
    subs.add(sub);
    subscriber.onSubscribe(sub);
    onSubscribe.accept(sub);
  }

  /** New subscriptions get this value first. */
  void answer(T value) {
    onSubscribe = sub -> sub.send(value);
  }

  /** New subscriptions fail. */
  void refuse(Throwable failure) {
    onSubscribe = sub -> sub.fail(failure);
  }

  Sub last() {
    return subs.get(subs.size() - 1);
  }

  int opened() {
    return subs.size();
  }

  List<Sub> live() {
    return subs.stream().filter(sub -> !sub.cancelled && !sub.ended).toList();
  }

  void sendAll(T item) {
    live().forEach(sub -> sub.send(item));
  }

  /** One subscription. */
  final class Sub implements Flow.Subscription {
    final Flow.Subscriber<? super T> subscriber;
    final Deque<T> waiting = new ArrayDeque<>();
    long requested;
    long delivered;
    boolean cancelled;
    boolean ended;
    boolean throwsWhenAsked;
    boolean throwsWhenCancelled;
    private boolean draining;

    Sub(Flow.Subscriber<? super T> subscriber) {
      this.subscriber = subscriber;
    }

    @Override
    public void request(long n) {
      if (throwsWhenAsked) {
        throw new IllegalStateException("on purpose");
      }
      requested += n;
      drain();
    }

    @Override
    public void cancel() {
      cancelled = true;
      if (throwsWhenCancelled) {
        throw new IllegalStateException("on purpose");
      }
    }

    void send(T item) {
      waiting.add(item);
      drain();
    }

    private void drain() {
      if (draining) {
        return;
      }
      draining = true;
      while (!cancelled && !ended && delivered < requested && !waiting.isEmpty()) {
        delivered++;
        subscriber.onNext(waiting.remove());
      }
      draining = false;
    }

    /** Delivers whatever the demand. */
    void force(T item) {
      subscriber.onNext(item);
    }

    void fail(Throwable failure) {
      ended = true;
      subscriber.onError(failure);
    }

    void complete() {
      ended = true;
      subscriber.onComplete();
    }
  }
}
