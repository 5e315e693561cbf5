package io.kvrelay.transport.grpc;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One remote stream: a call and its subscriber. Every message is checked before the subscriber sees
 * anything of it, and the first fault ends the stream with its typed error. The call is asked for
 * no more messages than the subscriber has asked for, and for few at a time.
 *
 * <pre>
 * field       mode       guarded by
 * busy        atomic     -: whoever raises it from 0 owns the subscriber until it is 0 again
 * terminal    atomic     first writer wins; read by the owner
 * subscriber  volatile   dropped with the terminal signal (Reactive Streams §3.13)
 * introduced, plain      this
 * demand,
 * inFlight
 * firstSeen   plain      the call's callbacks, which are serial
 * </pre>
 *
 * @param <W> the wire message
 * @param <T> what the subscriber gets
 */
final class RemoteStream<W, T> extends ClientCall.Listener<Received<W>>
    implements Flow.Subscription {
  /** Enough to keep the pipe full; a filter chunk is 4 MiB. */
  private static final int WINDOW = 8;

  private final GrpcConnection connection;
  private final ClientCall<?, Received<W>> call;
  private final Envelope<W> envelope;
  private final Consumer<W> identityCheck;
  private final Function<W, T> decoder;
  private final AtomicInteger busy = new AtomicInteger();
  private final AtomicReference<@Nullable Runnable> terminal = new AtomicReference<>();
  private volatile Flow.@Nullable Subscriber<? super T> subscriber;
  private boolean firstSeen;
  private boolean introduced;
  private long demand;
  private int inFlight;

  RemoteStream(
      GrpcConnection connection,
      ClientCall<?, Received<W>> call,
      Envelope<W> envelope,
      Consumer<W> identityCheck,
      Function<W, T> decoder,
      Flow.Subscriber<? super T> subscriber) {
    this.connection = connection;
    this.call = call;
    this.envelope = envelope;
    this.identityCheck = identityCheck;
    this.decoder = decoder;
    this.subscriber = subscriber;
  }

  /** Opens the call, then lets the subscriber ask. */
  static <Q, W> void start(RemoteStream<W, ?> stream, ClientCall<Q, Received<W>> call, Q request) {
    stream.busy.set(1); // nothing reaches the subscriber before onSubscribe
    call.start(stream, new Metadata());
    call.sendMessage(request);
    call.halfClose();
    stream.introduce();
  }

  private void introduce() {
    Flow.Subscriber<? super T> s = subscriber;
    if (s != null) {
      guarded(() -> s.onSubscribe(this));
    }
    leave();
    // Until here demand only adds up: a message must find the subscriber given up by onSubscribe.
    synchronized (this) {
      introduced = true;
    }
    topUp();
  }

  // ---- The subscriber's side ----

  @Override
  public void request(long n) {
    if (n <= 0) {
      end(
          new IllegalArgumentException("request(" + n + "): must be positive"),
          "the subscriber broke the rules");
      return;
    }
    synchronized (this) {
      demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
    }
    topUp();
  }

  private void topUp() {
    int more;
    synchronized (this) {
      int wanted = (int) Math.min(demand, WINDOW);
      more = wanted - inFlight;
      if (!introduced || more <= 0 || (inFlight > 0 && more < WINDOW / 2 && demand > WINDOW)) {
        return;
      }
      inFlight += more;
    }
    call.request(more);
  }

  @Override
  public void cancel() {
    if (terminal.compareAndSet(null, RemoteStream::silence)) {
      call.cancel("cancelled by the subscriber", null);
      connection.closed(this);
    }
    subscriber = null;
  }

  // ---- The call's side ----

  @Override
  public void onMessage(Received<W> received) {
    if (terminal.get() != null) {
      return;
    }
    T value;
    try {
      value = checked(received);
    } catch (RelayException fault) {
      if (fault.reason() != RelayErrorReason.PUBLICATION_UNAVAILABLE) {
        connection.counters().refusedMessage();
      }
      end(fault, "refused: " + fault.getMessage());
      return;
    }
    synchronized (this) {
      inFlight--;
      demand = demand == Long.MAX_VALUE ? demand : demand - 1;
    }
    deliver(value);
    topUp();
  }

  private T checked(Received<W> received) {
    W message = received.message();
    if (message == null) {
      Exception fault = received.fault();
      RelayErrorReason reason = RelayErrorReason.PROTOCOL_VIOLATION;
      throw new RelayException(reason, reason.action(), "message does not decode: " + fault, fault);
    }
    envelope.check(message);
    identityCheck.accept(message);
    checkRelay(envelope.relayOf(message));
    return decoder.apply(message);
  }

  private void checkRelay(RelayIdentity relay) {
    boolean first = !firstSeen;
    firstSeen = true;
    if (relay.equals(connection.relay())) {
      return;
    }
    if (first) {
      throw connection.replaced(relay);
    }
    throw new RelayException(
        RelayErrorReason.PROTOCOL_VIOLATION,
        "relay = " + relay + ": was " + connection.relay() + " before on this stream");
  }

  private void deliver(T value) {
    if (busy.getAndIncrement() != 0) {
      return; // messages are serial, so it is the terminal signal that has the subscriber
    }
    Flow.Subscriber<? super T> s = subscriber;
    if (terminal.get() == null && s != null) {
      connection.counters().message();
      guarded(() -> s.onNext(value));
    }
    leave();
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    RelayException failure = WireErrors.failure(status, trailers);
    finish(
        () -> {
          connection.counters().endedStream();
          signalError(failure);
        });
  }

  // ---- Ends ----

  /** Ends the stream with an error and cancels the call. */
  void end(Throwable failure, String text) {
    if (finish(() -> signalError(failure))) {
      call.cancel(text, null);
    }
  }

  /** The connection is closed by its owner: completes. */
  void complete() {
    if (finish(this::signalComplete)) {
      call.cancel("the connection is closed", null);
    }
  }

  /** How a cancelled stream ends. */
  private static void silence() {}

  private boolean finish(Runnable signal) {
    if (!terminal.compareAndSet(null, signal)) {
      return false;
    }
    connection.closed(this);
    connection.execute(
        () -> {
          if (busy.getAndIncrement() == 0) {
            signalTerminal();
          }
        });
    return true;
  }

  /** Gives the subscriber up, unless a terminal signal came up meanwhile: that is then ours. */
  private void leave() {
    if (busy.decrementAndGet() != 0) {
      signalTerminal();
    }
  }

  /** Owner only, and the last thing it does: {@code busy} stays raised for good. */
  private void signalTerminal() {
    Runnable signal = terminal.get();
    if (signal != null) {
      signal.run();
    }
  }

  private void signalError(Throwable failure) {
    Flow.Subscriber<? super T> s = subscriber;
    subscriber = null;
    if (s != null) {
      guarded(() -> s.onError(failure));
    }
  }

  private void signalComplete() {
    Flow.Subscriber<? super T> s = subscriber;
    subscriber = null;
    if (s != null) {
      guarded(s::onComplete);
    }
  }

  /** A subscriber that throws has broken the rules and is dropped (Reactive Streams §2.13). */
  private void guarded(Runnable signal) {
    try {
      signal.run();
    } catch (RuntimeException e) {
      cancel();
      throw e;
    }
  }
}
