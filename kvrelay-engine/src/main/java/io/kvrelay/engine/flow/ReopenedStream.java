package io.kvrelay.engine.flow;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A stream that is opened again, after 100 milliseconds, doubling to 5 seconds, whenever it fails,
 * ends, or sends more than it was asked for; a good item resets the delay. Signals of a stream that
 * was given up are ignored and counted.
 *
 * <p>All of it, the follower included, runs in the mailbox of its owner, who also calls {@link
 * #open()} and {@link #stop()} there; the counters may be read anywhere. Nothing blocks.
 *
 * @param <T> what the stream carries
 */
public final class ReopenedStream<T> {
  /**
   * What its owner does with it.
   *
   * @param <T> what the stream carries
   */
  public interface Follower<T> {
    /**
     * Begins a new opening.
     *
     * @return what to subscribe to; if this throws, the opening is lost
     */
    Flow.Publisher<T> publisher();

    /**
     * Takes an item.
     *
     * @param item the item
     * @return whether it was good
     */
    boolean take(T item);

    /**
     * The stream was given up, and will be opened again.
     *
     * @param how what became of it, for people: a predicate
     */
    void lost(String how);
  }

  private final RelayRuntime runtime;
  private final Executor mailbox;
  private final int demand;
  private final Follower<T> follower;
  private final LongAdder lost = new LongAdder();
  private final LongAdder late = new LongAdder();
  // Everything below belongs to the mailbox.
  private final RetryDelay delay = RetryDelay.local();
  private @Nullable Opening current;
  private RelayRuntime.@Nullable Timer retry;
  private boolean stopped;

  /**
   * Creates a stream that is not open.
   *
   * @param runtime its timer
   * @param mailbox runs one task at a time, in order
   * @param demand how many items may be on their way, at least 1
   * @param follower its owner
   */
  public ReopenedStream(RelayRuntime runtime, Executor mailbox, int demand, Follower<T> follower) {
    this.runtime = runtime;
    this.mailbox = mailbox;
    this.demand = demand;
    this.follower = follower;
  }

  /** Opens the stream unless it was stopped. */
  public void open() {
    if (stopped) {
      return;
    }
    Opening opening = new Opening();
    current = opening;
    try {
      follower.publisher().subscribe(opening);
    } catch (RuntimeException | Error refused) {
      lose(opening, "refused to be watched: " + refused);
    }
  }

  /** Gives the stream up for good. */
  public void stop() {
    stopped = true;
    if (retry != null) {
      retry.cancel();
    }
    if (current != null) {
      current.cancel();
      current = null;
    }
  }

  /**
   * Streams that were given up without having been stopped.
   *
   * @return a number that only grows
   */
  public long lost() {
    return lost.sum();
  }

  /**
   * Signals of streams that had been given up.
   *
   * @return a number that only grows
   */
  public long late() {
    return late.sum();
  }

  private void take(Opening opening, T item) {
    if (opening != current) {
      late.increment();
      return;
    }
    if (follower.take(item)) {
      delay.reset();
    }
    opening.taken();
  }

  private void lose(Opening opening, String how) {
    if (opening != current) {
      late.increment();
      return;
    }
    opening.cancel();
    current = null;
    lost.increment();
    retry = runtime.schedule(delay.takeNanos(), () -> mailbox.execute(this::open));
    follower.lost(how); // last: what it throws is its owner's business, and keeps nothing closed
  }

  private final class Opening implements Flow.Subscriber<T> {
    private final AtomicInteger open = new AtomicInteger(demand);
    private final int batch = Math.max(1, demand / 2);
    private Flow.@Nullable Subscription subscription;
    private boolean cancelled;
    private int taken;

    private void taken() {
      if (++taken == batch && subscription != null) {
        taken = 0;
        open.addAndGet(batch);
        subscription.request(batch);
      }
    }

    private void cancel() {
      cancelled = true;
      if (subscription != null) {
        subscription.cancel();
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      mailbox.execute(
          () -> {
            if (cancelled || subscription != null) {
              given.cancel();
            } else {
              subscription = given;
              given.request(demand);
            }
          });
    }

    @Override
    public void onNext(T item) {
      int left = open.decrementAndGet();
      if (left >= 0) {
        mailbox.execute(() -> take(this, item));
      } else if (left == -1) {
        // What waits stays bounded, and something is missing from now on.
        mailbox.execute(() -> lose(this, "sent more than " + demand + " items at a time"));
      }
    }

    @Override
    public void onError(Throwable failure) {
      mailbox.execute(() -> lose(this, "failed: " + failure));
    }

    @Override
    public void onComplete() {
      mailbox.execute(() -> lose(this, "ended"));
    }
  }
}
