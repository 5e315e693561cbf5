package io.kvrelay.dynamo;

import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.SourceTrust;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Subscribers that keep what they get, and wait for it with a limit. */
final class Collected {
  private static final long SECONDS = 20;

  private Collected() {}

  /** Takes values one at a time. */
  static final class Values<T> implements Flow.Subscriber<T> {
    private final BlockingQueue<Object> got = new LinkedBlockingQueue<>();
    private volatile Flow.Subscription subscription;

    private record End(Throwable failure) {}

    static <T> Values<T> of(Flow.Publisher<T> publisher) {
      Values<T> values = new Values<>();
      publisher.subscribe(values);
      return values;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(1);
    }

    @Override
    public void onNext(T item) {
      got.add(item);
      subscription.request(1);
    }

    @Override
    public void onError(Throwable failure) {
      got.add(new End(failure));
    }

    @Override
    public void onComplete() {
      got.add(new End(null));
    }

    void cancel() {
      subscription.cancel();
    }

    /** Nothing came so far that was not asked for. */
    boolean isEmpty() {
      return got.isEmpty();
    }

    @SuppressWarnings("unchecked")
    T next() throws InterruptedException {
      Object next = got.poll(SECONDS, TimeUnit.SECONDS);
      if (next == null || next instanceof End) {
        throw new AssertionError("no value: " + next);
      }
      return (T) next;
    }

    T nextWhere(Predicate<T> wanted) throws InterruptedException {
      T value = next();
      while (!wanted.test(value)) {
        value = next();
      }
      return value;
    }

    Throwable failure() throws InterruptedException {
      while (true) {
        Object next = got.poll(SECONDS, TimeUnit.SECONDS);
        if (next == null) {
          throw new AssertionError("no end");
        }
        if (next instanceof End end) {
          return end.failure();
        }
      }
    }
  }

  /** Takes batches. */
  static final class Batches implements KvEventListener {
    final BlockingQueue<KvEventBatch> batches = new LinkedBlockingQueue<>();
    final BlockingQueue<RelayException> failures = new LinkedBlockingQueue<>();

    @Override
    public void onBatch(KvEventBatch batch) {
      batches.add(batch);
    }

    @Override
    public void onDiscontinuity(long publisherId, String reason) {
      throw new AssertionError("no provider of Dynamo says so");
    }

    @Override
    public void onTrust(long publisherId, SourceTrust trust, String reason) {
      throw new AssertionError("no provider of Dynamo says so");
    }

    @Override
    public void onFailure(RelayException error) {
      failures.add(error);
    }

    KvEventBatch next() throws InterruptedException {
      KvEventBatch batch = batches.poll(SECONDS, TimeUnit.SECONDS);
      if (batch == null) {
        throw new AssertionError("no batch within " + SECONDS + " s");
      }
      return batch;
    }
  }
}
