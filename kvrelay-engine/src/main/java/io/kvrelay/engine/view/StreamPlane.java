package io.kvrelay.engine.view;

import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RelayRuntime.Timer;
import io.kvrelay.api.runtime.SerialExecutor;
import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One plane: keeps one stream of one source open, gives each opening a fence of its own, bounds
 * what waits, and opens again with backoff and jitter after any failure or unasked end, as far as
 * the failure's action allows it.
 *
 * <p>All state is confined to the mailbox; whoever reads from outside reads the volatile {@link
 * Report}. Every opening is a new subscriber, and signals of one that was given up are counted and
 * ignored, so that a late message can never touch the state of its successor.
 */
abstract class StreamPlane<F> {
  /** What a plane shows to the outside. */
  record Report(PlaneStatus status, String reason) {}

  private static final System.Logger LOG = System.getLogger(StreamPlane.class.getName());

  final RelayRuntime runtime;
  final ViewCounters counters;
  private final PlaneKind kind;
  private final SerialExecutor mailbox;
  private final int window;
  private final Backoff backoff;
  private @Nullable Opening opening;
  private @Nullable Timer retry;
  private long attemptStartedAtNanos;
  private boolean closed;
  private volatile Report report = new Report(PlaneStatus.CLOSED, "not started");

  StreamPlane(
      PlaneKind kind,
      RelayRuntime runtime,
      ViewCounters counters,
      SerialExecutor mailbox,
      int window) {
    this.kind = kind;
    this.runtime = runtime;
    this.counters = counters;
    this.mailbox = mailbox;
    this.window = window;
    this.backoff = new Backoff(runtime);
  }

  /** The stream to subscribe to; asked anew for each opening. */
  abstract Flow.Publisher<F> publisher();

  /**
   * A new opening begins: whatever an earlier one left is dropped, before anything can arrive.
   *
   * @return true to subscribe now; otherwise {@link #subscribe} must be called once ready
   */
  abstract boolean opened();

  /**
   * Takes one item. Whatever it throws fails the stream: an item that was not taken, for want of
   * memory say, is missing in what the plane holds.
   *
   * @return true if the item is done with; otherwise {@link #done} must be called for it later
   * @throws RelayException if the item breaks a rule
   */
  abstract boolean item(F item);

  /** The stream is over and its state must not be used any longer. */
  abstract void dropped(RelayException why);

  /** Called in the mailbox after the report changed. */
  abstract void reported(Report report);

  /** What follows a failure; the default obeys what the failure says. */
  boolean mayRetry(RelayException why) {
    return why.action() != RecoveryAction.STOP && why.action() != RecoveryAction.FIX_REQUEST;
  }

  /** The delay is over: opens, unless a plane wants to ask somebody first. */
  void retryDue() {
    open();
  }

  final Report report() {
    return report;
  }

  final PlaneKind kind() {
    return kind;
  }

  final void run(Runnable task) {
    mailbox.execute(task);
  }

  /** Opens the first stream. */
  final void start() {
    mailbox.execute(this::open);
  }

  /** Ends for good: cancels the stream, drops the state. Idempotent. */
  final void close(String why) {
    mailbox.execute(() -> closeNow(why));
  }

  private void closeNow(String why) {
    if (report.status() == PlaneStatus.CLOSED && report.reason().equals(why)) {
      return;
    }
    boolean hadStarted = report.status() != PlaneStatus.CLOSED;
    cancelRetry();
    endOpening();
    closed = true;
    if (hadStarted) {
      dropped(new RelayException(RelayErrorReason.CLOSED, why));
    }
    show(PlaneStatus.CLOSED, why);
  }

  /** Whether {@link #close} has run; only meaningful in the mailbox. */
  final boolean isClosed() {
    return closed;
  }

  /** Gives the current stream up and opens a new one at once, with a fresh backoff. */
  final void restart() {
    mailbox.execute(
        () -> {
          if (!closed) {
            backoff.reset();
            open();
          }
        });
  }

  final void open() {
    if (closed) {
      return;
    }
    cancelRetry();
    endOpening();
    attemptStartedAtNanos = runtime.nanoTime();
    Opening next = new Opening();
    opening = next;
    counters.increment(ViewCounter.STREAMS_OPENED);
    show(PlaneStatus.CONNECTING, "opening the stream");
    try {
      if (opened()) {
        publisher().subscribe(next);
      }
    } catch (RuntimeException | Error e) {
      fail(next, relayException(e));
    }
  }

  /** Stands for the current opening; a callback that holds it knows whether it is still wanted. */
  final @Nullable Object fence() {
    return opening;
  }

  final boolean isCurrent(@Nullable Object fence) {
    return fence != null && fence == opening;
  }

  /** Subscribes the current opening, which {@link #opened} has held back. */
  final void subscribe() {
    Opening current = opening;
    if (current != null) {
      try {
        publisher().subscribe(current);
      } catch (RuntimeException | Error e) {
        fail(current, relayException(e));
      }
    }
  }

  /** One more item of the current opening is done with. */
  final void done() {
    Opening current = opening;
    if (current != null) {
      current.replenish();
    }
  }

  /** Tells the outside that the plane's state is usable, or on its way. */
  final void show(PlaneStatus status, String reason) {
    if (report.status() != status || !report.reason().equals(reason)) {
      Report next = new Report(status, reason);
      report = next;
      reported(next);
    }
  }

  /** Fails the current opening, if there is one. */
  final void failCurrent(RelayException why) {
    Opening current = opening;
    if (current != null) {
      fail(current, why);
    }
  }

  private void fail(Opening failed, RelayException why) {
    if (opening != failed) {
      counters.increment(ViewCounter.LATE_SIGNALS_IGNORED);
      return;
    }
    endOpening();
    counters.failure(kind, why.reason());
    dropped(why);
    if (mayRetry(why)) {
      show(PlaneStatus.BACKING_OFF, describe(why));
      backOff();
    } else {
      show(PlaneStatus.STOPPED, describe(why));
    }
  }

  /** Schedules the next attempt after one more delay. */
  final void backOff() {
    long delay = backoff.nextDelayNanos(runtime.nanoTime() - attemptStartedAtNanos);
    cancelRetry();
    retry = runtime.schedule(delay, () -> mailbox.execute(this::retryNow));
  }

  private void retryNow() {
    if (!closed && retry != null) {
      retry = null;
      attemptStartedAtNanos = runtime.nanoTime();
      retryDue();
    }
  }

  private void cancelRetry() {
    Timer pending = retry;
    if (pending != null) {
      retry = null;
      pending.cancel();
    }
  }

  private void endOpening() {
    Opening current = opening;
    if (current != null) {
      opening = null;
      current.cancel();
    }
  }

  private static String describe(RelayException why) {
    return why.reason() + ": " + why.getMessage();
  }

  static RelayException relayException(Throwable failure) {
    if (failure instanceof RelayException known) {
      return known;
    }
    return new RelayException(
        RelayErrorReason.INTERNAL,
        RelayErrorReason.INTERNAL.action(),
        "a stream failed with " + failure,
        failure);
  }

  /** One subscription. Its signals hop to the mailbox; what waits there is bounded by demand. */
  private final class Opening implements Flow.Subscriber<F> {
    private final AtomicInteger granted = new AtomicInteger();
    private Flow.@Nullable Subscription subscription;
    private boolean cancelled;
    private int taken;
    private volatile boolean overrun;

    @Override
    public void onSubscribe(Flow.Subscription s) {
      Objects.requireNonNull(s, "subscription");
      mailbox.execute(() -> subscribed(s));
    }

    private void subscribed(Flow.Subscription s) {
      if (cancelled || subscription != null) {
        s.cancel();
        return;
      }
      subscription = s;
      request(s, window);
    }

    /** A source that throws here breaks its contract: its stream is over. */
    private void request(Flow.Subscription s, int more) {
      granted.addAndGet(more);
      try {
        s.request(more);
      } catch (RuntimeException | Error e) {
        fail(this, relayException(e));
      }
    }

    @Override
    public void onNext(F item) {
      Objects.requireNonNull(item, "item");
      if (granted.getAndDecrement() <= 0) {
        // Not queued: a source that ignores demand must not grow the mailbox.
        granted.set(Integer.MIN_VALUE / 2);
        counters.increment(ViewCounter.UNREQUESTED_ITEMS_REFUSED);
        if (!overrun) {
          overrun = true;
          mailbox.execute(() -> fail(this, violation("the source sent more than was asked for")));
        }
        return;
      }
      mailbox.execute(() -> received(item));
    }

    private void received(F item) {
      if (opening != this) {
        counters.increment(ViewCounter.LATE_SIGNALS_IGNORED);
        return;
      }
      boolean done;
      try {
        done = item(item);
      } catch (RuntimeException | Error e) {
        fail(this, relayException(e));
        return;
      }
      if (done && opening == this) {
        replenish();
      }
    }

    /** Asking for half a window at a time keeps the source busy at half the signalling. */
    private void replenish() {
      if (++taken >= (window + 1) / 2) {
        Flow.Subscription s = subscription;
        int more = taken;
        taken = 0;
        if (s != null) {
          request(s, more);
        }
      }
    }

    @Override
    public void onError(Throwable failure) {
      Objects.requireNonNull(failure, "failure");
      mailbox.execute(() -> fail(this, relayException(failure)));
    }

    @Override
    public void onComplete() {
      mailbox.execute(
          () ->
              fail(
                  this,
                  new RelayException(
                      RelayErrorReason.PUBLICATION_UNAVAILABLE, "the stream ended unasked")));
    }

    private void cancel() {
      cancelled = true;
      Flow.Subscription s = subscription;
      if (s != null) {
        StreamPlane.cancel(s);
      }
    }
  }

  /**
   * Cancels; a source that throws then breaks its contract, and the stream is over all the same.
   */
  static void cancel(Flow.Subscription s) {
    try {
      s.cancel();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.WARNING, "a source failed to cancel a stream", e);
    }
  }

  static RelayException violation(String message) {
    return new RelayException(RelayErrorReason.PROTOCOL_VIOLATION, message);
  }
}
