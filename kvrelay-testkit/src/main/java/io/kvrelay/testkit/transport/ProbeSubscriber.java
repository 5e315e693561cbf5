package io.kvrelay.testkit.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.RelayException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A subscriber that asks only when told to, keeps what it gets, and lets a test wait for it. It
 * also checks the rules that it can see: signals are serial, follow {@code onSubscribe}, stay
 * within what was asked for, and none follows the end. Thread safe; waits at most {@link
 * #PATIENCE}.
 *
 * @param <T> the items
 */
public final class ProbeSubscriber<T> implements Flow.Subscriber<T> {
  /** How long any wait may take. */
  public static final Duration PATIENCE = Duration.ofSeconds(5);

  private record End(@Nullable Throwable failure) {}

  private final LinkedBlockingQueue<T> items = new LinkedBlockingQueue<>();
  private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final CompletableFuture<End> end = new CompletableFuture<>();
  private final AtomicInteger signalling = new AtomicInteger();
  private final List<String> faults = new ArrayList<>();
  private long asked;
  private long received;

  /** Creates one that has not subscribed yet. */
  public ProbeSubscriber() {}

  /**
   * Subscribes a new probe, without asking for anything.
   *
   * @param publisher the publisher
   * @param <T> the items
   * @return the probe
   */
  public static <T> ProbeSubscriber<T> to(Flow.Publisher<T> publisher) {
    ProbeSubscriber<T> probe = new ProbeSubscriber<>();
    publisher.subscribe(probe);
    return probe;
  }

  /**
   * Subscribes a new probe and asks for everything.
   *
   * @param publisher the publisher
   * @param <T> the items
   * @return the probe
   */
  public static <T> ProbeSubscriber<T> toAllOf(Flow.Publisher<T> publisher) {
    return to(publisher).request(Long.MAX_VALUE);
  }

  @Override
  public void onSubscribe(Flow.Subscription s) {
    signal(
        () -> {
          if (!subscription.complete(s)) {
            fault("onSubscribe twice");
          }
        });
  }

  @Override
  public void onNext(T item) {
    signal(
        () -> {
          if (!subscription.isDone()) {
            fault("onNext before onSubscribe");
          }
          if (end.isDone()) {
            fault("onNext after the end");
          }
          synchronized (faults) {
            received++;
            if (received > asked) {
              faults.add("item " + received + " of " + asked + " asked for");
            }
          }
          items.add(item);
        });
  }

  @Override
  public void onError(Throwable failure) {
    signal(() -> ended(failure));
  }

  @Override
  public void onComplete() {
    signal(() -> ended(null));
  }

  private void ended(@Nullable Throwable failure) {
    if (!subscription.isDone()) {
      fault("an end before onSubscribe");
    }
    if (!end.complete(new End(failure))) {
      fault("a second end");
    }
  }

  private void signal(Runnable body) {
    if (signalling.getAndIncrement() != 0) {
      fault("two signals at once");
    }
    body.run();
    signalling.getAndDecrement();
  }

  private void fault(String what) {
    synchronized (faults) {
      faults.add(what);
    }
  }

  /**
   * Asks for more.
   *
   * @param n how many
   * @return this
   */
  public ProbeSubscriber<T> request(long n) {
    synchronized (faults) {
      asked = asked + n < 0 ? Long.MAX_VALUE : asked + n;
    }
    await(subscription, "onSubscribe").request(n);
    return this;
  }

  /** Cancels the subscription. */
  public void cancel() {
    await(subscription, "onSubscribe").cancel();
  }

  /**
   * Waits for the next item.
   *
   * @return the item
   */
  public T next() {
    T item = poll(PATIENCE);
    if (item == null) {
      throw new AssertionError(
          end.isDone() ? "ended instead of an item: " + endText() : "no item in " + PATIENCE);
    }
    return item;
  }

  /**
   * Waits for an item for a given time.
   *
   * @param patience how long
   * @return the item, or null if none came
   */
  public @Nullable T poll(Duration patience) {
    long deadline = System.nanoTime() + patience.toNanos();
    try {
      T item = items.poll();
      while (item == null && System.nanoTime() - deadline < 0 && !end.isDone()) {
        item = items.poll(10, TimeUnit.MILLISECONDS);
      }
      return item == null ? items.poll() : item;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  /**
   * Asks for one item and waits for it.
   *
   * @return the item
   */
  public T ask() {
    return request(1).next();
  }

  /**
   * Number of items that came and were not taken yet.
   *
   * @return items
   */
  public int waiting() {
    return items.size();
  }

  /**
   * Waits for the end and expects an error.
   *
   * @return the error
   */
  public RelayException failure() {
    Throwable failure = await(end, "an end").failure();
    assertThat(failure).as("how the stream ended").isInstanceOf(RelayException.class);
    return (RelayException) java.util.Objects.requireNonNull(failure);
  }

  /**
   * Waits for the end, whatever it is.
   *
   * @return the error, or null if it completed
   */
  public @Nullable Throwable end() {
    return await(end, "an end").failure();
  }

  /**
   * Whether it has ended.
   *
   * @return true after an error or completion
   */
  public boolean hasEnded() {
    return end.isDone();
  }

  private String endText() {
    Throwable failure = end.join().failure();
    return failure == null ? "completed" : failure.toString();
  }

  /** Fails if a rule of Reactive Streams was broken so far. */
  public void assertRulesKept() {
    synchronized (faults) {
      assertThat(faults).as("Reactive Streams rules broken").isEmpty();
    }
  }

  private static <V> V await(CompletableFuture<V> future, String what) {
    try {
      return future.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError("no " + what + " in " + PATIENCE, e);
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }
}
