package io.kvrelay.transport.inproc;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialTask;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One stream through the transport: admitted by the export, pulled from the source a few messages
 * ahead of the subscriber, delivered as the subscriber asks. Back-pressure reaches the source, so
 * that a slow subscriber is the source's to judge, as over a network.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>arrived, upstreamEnded, upstreamError</td><td>plain</td><td>{@code arrived}'s monitor
 * </td></tr>
 * <tr><td>cancelled, upstream</td><td>volatile</td><td>-</td></tr>
 * <tr><td>forcedEnd</td><td>atomic</td><td>the first one stays</td></tr>
 * <tr><td>all other</td><td>plain</td><td>the run</td></tr>
 * </table>
 *
 * @param <T> what it carries
 */
final class Pipe<T> implements Flow.Subscriber<T>, Flow.Subscription {
  /** Lets a pipe into an export: takes the permit, or fails as the contract says. */
  interface Admission<T> {
    Route<T> admit(InprocExport export);
  }

  /** Where an admitted pipe gets its messages, and what a quiet stream sends, if anything. */
  record Route<T>(Flow.Publisher<T> publisher, @Nullable Heartbeat<T> heartbeat) {}

  private static final System.Logger LOG = System.getLogger(Pipe.class.getName());

  /** Messages delivered before others get a turn on the executor. */
  private static final int MESSAGES_PER_RUN = 64;

  private record End(@Nullable Throwable error) {}

  private final InprocConnection connection;
  private final StreamType type;
  private final Admission<T> admission;
  private final SerialTask run;
  private final Demand demand = new Demand();

  private final ArrayDeque<T> arrived = new ArrayDeque<>(Wire.WINDOW);
  private boolean upstreamEnded;
  private @Nullable Throwable upstreamError;
  private volatile Flow.@Nullable Subscription upstream;
  private volatile boolean cancelled;
  private final AtomicReference<@Nullable End> forcedEnd = new AtomicReference<>();

  private Flow.@Nullable Subscriber<? super T> subscriber;
  private boolean started;
  private @Nullable InprocExport export;
  private @Nullable Heartbeat<T> heartbeat;
  private final Wire<T> wire = new Wire<>();
  private @Nullable T swapped;
  private int requested;
  private RelayRuntime.@Nullable Timer timer;
  private long timerAtNanos;

  Pipe(
      InprocConnection connection,
      StreamType type,
      Admission<T> admission,
      Flow.Subscriber<? super T> subscriber) {
    this.connection = connection;
    this.type = type;
    this.admission = admission;
    this.subscriber = subscriber;
    this.run = new SerialTask(connection.runtime().executor(), this::run);
  }

  void start() {
    run.wake();
  }

  void wake() {
    run.wake();
  }

  /** Ends the stream at once, whatever is on its way. */
  void end(@Nullable Throwable error) {
    forcedEnd.compareAndSet(null, new End(error));
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

  @Override
  public void onSubscribe(Flow.Subscription given) {
    upstream = given;
    run.wake();
  }

  @Override
  public void onNext(T message) {
    synchronized (arrived) {
      arrived.add(message);
    }
    run.wake();
  }

  @Override
  public void onError(Throwable error) {
    upstreamEnds(error);
  }

  @Override
  public void onComplete() {
    upstreamEnds(null);
  }

  private void upstreamEnds(@Nullable Throwable error) {
    synchronized (arrived) {
      if (!upstreamEnded) { // the first end counts
        upstreamEnded = true;
        upstreamError = error;
      }
    }
    run.wake();
  }

  // On the run.

  private void run() {
    Flow.Subscriber<? super T> to = subscriber;
    if (to == null) {
      letGoOfUpstream(); // it may have answered after the end
      return;
    }
    try {
      if (!started) {
        started = true;
        to.onSubscribe(this);
        RelayException refusal = open();
        if (refusal != null) {
          finish();
          to.onError(refusal);
          return;
        }
      }
      if (!endedFromOutside(to)) {
        carry(to);
      }
    } catch (RuntimeException | Error e) {
      // The subscriber threw, which the rules forbid: it has cancelled, and nobody else notices.
      InprocExport from = export;
      if (from != null) {
        from.countSubscriberFault();
      }
      finish();
      throw e;
    }
  }

  /** Connects to the source. Returns why it may not, or null. */
  private @Nullable RelayException open() {
    connection.opened(this);
    try {
      InprocExport to = connection.export();
      Route<T> route = admission.admit(to);
      export = to;
      heartbeat = route.heartbeat();
      to.opened(this);
      route.publisher().subscribe(this);
      return null;
    } catch (RelayException refusal) {
      return refusal;
    } catch (RuntimeException | Error e) {
      return sourceFailed(e);
    }
  }

  /** What the source threw is its own fault, and the subscriber's stream still has an end. */
  private static RelayException sourceFailed(Throwable thrown) {
    LOG.log(Level.ERROR, "a source failed a stream", thrown);
    return new RelayException(
        RelayErrorReason.INTERNAL,
        RelayErrorReason.INTERNAL.action(),
        "the source failed: " + thrown,
        thrown);
  }

  private boolean endedFromOutside(Flow.Subscriber<? super T> to) {
    End end = forcedEnd.get();
    Throwable fault = demand.fault();
    if (cancelled) {
      finish();
    } else if (fault != null) {
      finish();
      to.onError(fault);
    } else if (end != null) {
      finish();
      signal(to, end.error());
    } else {
      return false;
    }
    return true;
  }

  private void carry(Flow.Subscriber<? super T> to) {
    InprocExport from = Objects.requireNonNull(export);
    boolean ended = takeArrivals(from);
    beatIfDue(from);
    for (int i = 0; canDeliver(from) && demand.tryTake(); i++) {
      to.onNext(wire.take());
      if (i == MESSAGES_PER_RUN) {
        run.wake();
        return;
      }
      if (cancelled) {
        run.wake();
        return;
      }
    }
    if (ended && wire.size() == 0) {
      Throwable error = upstreamError;
      finish();
      signal(to, error);
      return;
    }
    pull();
    setTimer(from);
  }

  /** Puts what the source has sent on the wire. Returns whether the source sends nothing more. */
  private boolean takeArrivals(InprocExport from) {
    while (true) {
      T message;
      boolean ended;
      synchronized (arrived) {
        message = arrived.poll();
        ended = upstreamEnded;
      }
      if (message == null) {
        if (ended && swapped != null) {
          send(from, swapped); // no successor will come
          swapped = null;
        }
        return ended;
      }
      requested--;
      meetFate(from, message);
    }
  }

  private void meetFate(InprocExport from, T message) {
    boolean data =
        message instanceof PublicationFrame frame
            && frame.kind() != PublicationFrame.Kind.HEARTBEAT;
    InprocFaults.Fate fate =
        data ? from.faults().next(connection.subscriberId()) : InprocFaults.Fate.PASS;
    switch (fate) {
      case DROP -> {}
      case DUPLICATE -> {
        send(from, message);
        send(from, message);
      }
      case REORDER -> {
        T before = swapped;
        swapped = message;
        if (before != null) {
          send(from, before);
        }
      }
      case PASS -> {
        send(from, message);
        T before = swapped;
        if (before != null && data) {
          swapped = null;
          send(from, before);
        }
      }
    }
  }

  private void send(InprocExport from, T message) {
    wire.add(message, from.runtime().nanoTime() + from.faults().delayNanos());
    Heartbeat<T> beat = heartbeat;
    if (beat != null) {
      beat.sent(message);
    }
  }

  private void beatIfDue(InprocExport from) {
    Heartbeat<T> beat = heartbeat;
    if (beat != null && beat.delayNanos() == 0 && wire.size() < Wire.WINDOW) {
      if (type == StreamType.POOL) {
        from.countPoolHeartbeat();
      }
      wire.add(beat.beat(), from.runtime().nanoTime() + from.faults().delayNanos());
    }
  }

  private boolean canDeliver(InprocExport from) {
    return wire.size() > 0
        && from.runtime().nanoTime() - wire.headArrivesAt() >= 0
        && !from.faults().isStalled(connection.subscriberId());
  }

  private void pull() {
    Flow.Subscription source = upstream;
    int room = Wire.WINDOW - wire.size() - requested;
    if (source != null && room > 0) {
      requested += room;
      try {
        source.request(room);
      } catch (RuntimeException | Error e) {
        upstreamEnds(sourceFailed(e));
      }
    }
  }

  /** Wakes the run for the next arrival or heartbeat; a timer that comes early sets the next. */
  private void setTimer(InprocExport from) {
    long now = from.runtime().nanoTime();
    long delay = -1;
    Heartbeat<T> beat = heartbeat;
    if (beat != null && wire.size() < Wire.WINDOW) {
      delay = beat.delayNanos();
    }
    if (wire.size() > 0) {
      long arrival = wire.headArrivesAt() - now;
      if (arrival > 0 && (delay < 0 || arrival < delay)) {
        delay = arrival;
      }
    }
    if (delay < 0 || (timer != null && timerAtNanos - now > 0 && timerAtNanos - now <= delay)) {
      return;
    }
    cancelTimer();
    timerAtNanos = now + delay;
    timer = from.runtime().schedule(delay, run::wake);
  }

  private void cancelTimer() {
    RelayRuntime.Timer pending = timer;
    timer = null;
    if (pending != null) {
      pending.cancel();
    }
  }

  private void signal(Flow.Subscriber<? super T> to, @Nullable Throwable error) {
    if (error == null) {
      to.onComplete();
    } else {
      InprocExport from = export;
      if (from != null) {
        from.limit(type).ended(error);
      }
      to.onError(error);
    }
  }

  private void finish() {
    subscriber = null;
    cancelTimer();
    letGoOfUpstream();
    connection.closed(this);
    InprocExport from = export;
    if (from != null) {
      from.closed(this, type);
    }
  }

  private void letGoOfUpstream() {
    Flow.Subscription source = upstream;
    if (source != null) {
      try {
        source.cancel();
      } catch (RuntimeException | Error e) {
        LOG.log(Level.ERROR, "a source failed to cancel a stream", e);
      }
    }
    synchronized (arrived) {
      arrived.clear();
    }
  }
}
