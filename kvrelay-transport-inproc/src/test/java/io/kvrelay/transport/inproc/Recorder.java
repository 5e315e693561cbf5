package io.kvrelay.transport.inproc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;

/** Keeps what it is sent. */
final class Recorder<T> implements Flow.Subscriber<T> {
  final List<T> items = new ArrayList<>();
  Flow.Subscription subscription;
  Throwable error;
  boolean completed;
  int terminals;
  Error throwOnNext;
  private final long initialDemand;

  Recorder(long initialDemand) {
    this.initialDemand = initialDemand;
  }

  static <T> Recorder<T> of(Flow.Publisher<T> publisher) {
    return of(publisher, Long.MAX_VALUE);
  }

  static <T> Recorder<T> of(Flow.Publisher<T> publisher, long initialDemand) {
    Recorder<T> recorder = new Recorder<>(initialDemand);
    publisher.subscribe(recorder);
    return recorder;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (initialDemand > 0) {
      given.request(initialDemand);
    }
  }

  @Override
  public void onNext(T item) {
    if (throwOnNext != null) {
      throw throwOnNext;
    }
    items.add(item);
  }

  @Override
  public void onError(Throwable cause) {
    error = cause;
    terminals++;
  }

  @Override
  public void onComplete() {
    completed = true;
    terminals++;
  }

  RelayErrorReason reason() {
    return error instanceof RelayException relay ? relay.reason() : null;
  }

  T last() {
    return items.get(items.size() - 1);
  }
}
