package io.kvrelay.transport.inproc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialTask;
import io.kvrelay.api.transport.TransportLimits;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The load windows of one export: window 0 at its start, then one per interval, idle or not. The
 * last {@code load_fanout_capacity} windows are kept once for all subscribers; who falls further
 * behind has lagged. A window is complete, so a subscriber starts with the current one.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>ring, latest</td><td>volatile</td><td>written by the timer's task; a slot is written
 * before {@code latest} names it</td></tr>
 * </table>
 */
final class LoadWindows implements Flow.Publisher<LoadSnapshot>, AutoCloseable {
  private final RelayRuntime runtime;
  private final Supplier<@Nullable LoadSnapshot> source;
  private final long windowNanos;
  private final long windowMillis;
  private final int capacity;
  private final AtomicReferenceArray<@Nullable LoadSnapshot> ring;
  private final List<Reader> readers = new CopyOnWriteArrayList<>();
  private volatile long latest = -1;
  private volatile RelayRuntime.@Nullable Timer timer;
  private volatile boolean closed;
  private volatile boolean ended;
  private volatile @Nullable RelayException failure;

  LoadWindows(
      RelayRuntime runtime, TransportLimits limits, Supplier<@Nullable LoadSnapshot> source) {
    this.runtime = runtime;
    this.source = source;
    this.windowNanos = limits.loadWindow().toNanos();
    this.windowMillis = limits.loadWindow().toMillis();
    this.capacity = limits.loadFanoutCapacity();
    this.ring = new AtomicReferenceArray<>(capacity);
  }

  void start() {
    produce();
  }

  long produced() {
    return latest + 1;
  }

  private void produce() {
    if (closed || ended || failure != null) {
      return;
    }
    LoadSnapshot current = source.get();
    LoadSnapshot known = current == null ? LoadSnapshot.EMPTY : current;
    long sequence = latest + 1;
    ring.set(
        (int) (sequence & (capacity - 1)),
        new LoadSnapshot(
            known.pools(),
            new LoadSnapshot.Window(sequence, runtime.currentTimeMillis(), windowMillis),
            known.quarantined()));
    latest = sequence;
    readers.forEach(Reader::wake);
    timer = runtime.schedule(windowNanos, this::produce);
    if (closed) {
      close(); // closed while the timer was set
    }
  }

  /** No more windows: the source has completed, or has failed. */
  void end(@Nullable Throwable error) {
    if (error == null) {
      ended = true;
    } else {
      failure =
          new RelayException(
              RelayErrorReason.PUBLICATION_UNAVAILABLE,
              RelayErrorReason.PUBLICATION_UNAVAILABLE.action(),
              "the load publisher is gone",
              error);
    }
    close();
    readers.forEach(Reader::wake);
  }

  @Override
  public void close() {
    closed = true;
    RelayRuntime.Timer pending = timer;
    if (pending != null) {
      pending.cancel();
    }
  }

  @Override
  public void subscribe(Flow.Subscriber<? super LoadSnapshot> subscriber) {
    Reader reader = new Reader(Objects.requireNonNull(subscriber, "subscriber"));
    readers.add(reader);
    reader.wake();
  }

  private final class Reader implements Flow.Subscription {
    private final Demand demand = new Demand();
    private final SerialTask run = new SerialTask(runtime.executor(), this::run);
    private Flow.@Nullable Subscriber<? super LoadSnapshot> subscriber;
    private volatile boolean cancelled;
    private boolean started;
    private long next;

    private Reader(Flow.Subscriber<? super LoadSnapshot> subscriber) {
      this.subscriber = subscriber;
    }

    private void wake() {
      run.wake();
    }

    @Override
    public void request(long n) {
      demand.add(n);
      run.wake();
    }

    @Override
    public void cancel() {
      cancelled = true;
      run.wake();
    }

    private void run() {
      Flow.Subscriber<? super LoadSnapshot> to = subscriber;
      if (to == null) {
        return;
      }
      if (!started) {
        started = true;
        next = latest;
        to.onSubscribe(this);
      }
      Throwable error = cancelled ? null : demand.fault();
      while (!cancelled && error == null && next <= latest) {
        LoadSnapshot window = ring.get((int) (next & (capacity - 1)));
        // Read before the check: a slot that was overwritten meanwhile is found out by it.
        if (latest - next >= capacity) {
          error = lagged();
        } else if (demand.tryTake()) {
          next++;
          to.onNext(Objects.requireNonNull(window));
        } else {
          break;
        }
      }
      if (error == null) {
        error = failure;
      }
      if (cancelled || error != null || ended) {
        subscriber = null;
        readers.remove(this);
        signalEnd(to, error);
      }
    }

    private RelayException lagged() {
      return new RelayException(
          RelayErrorReason.SUBSCRIBER_LAGGED,
          "the subscriber is more than " + capacity + " load windows behind");
    }

    private void signalEnd(Flow.Subscriber<? super LoadSnapshot> to, @Nullable Throwable error) {
      if (cancelled) {
        return;
      }
      if (error == null) {
        to.onComplete();
      } else {
        to.onError(error);
      }
    }
  }
}
