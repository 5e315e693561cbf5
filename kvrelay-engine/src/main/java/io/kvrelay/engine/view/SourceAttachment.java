package io.kvrelay.engine.view;

import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RelayRuntime.Timer;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.RelayTransport;
import io.kvrelay.api.transport.RelayTransports;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Follows one source over its connections and lives.
 *
 * <p>A source that was given as an object is one connection and one life. An address is connected,
 * and connected again with backoff and jitter when the connected source shuts down or has become
 * unreachable: nothing of it is current and its catalog has failed twice in a row. If the same
 * relay life answers, the session goes on over the new connection; another life starts a new
 * session, and nothing of the old one is kept.
 *
 * <pre>
 * field             mode       guarded by
 * session, status   volatile   written in the mailbox
 * all others        plain      the mailbox
 * </pre>
 */
final class SourceAttachment implements Attachment {
  private static final AtomicLong ORDER = new AtomicLong();
  private static final int FAILURES_BEFORE_RECONNECT = 2;
  private static final String CONNECTED = "connected";

  /** How a source is had. Null for one that was given as an object. */
  private record Dialer(RelayTransport transport, URI address, ConnectOptions options) {
    CompletionStage<ConnectedSource> dial() {
      try {
        return transport.connect(address, options);
      } catch (RuntimeException e) {
        return CompletableFuture.failedFuture(e);
      }
    }
  }

  private final long order = ORDER.getAndIncrement();
  private final String label;
  private final PoolBoard board;
  private final RelayRuntime runtime;
  private final SerialExecutor mailbox;
  private final @Nullable Dialer dialer;
  private final @Nullable RelayPublicationSource given;
  private final Consumer<SourceAttachment> forget;
  private final Backoff backoff;
  private final CompletableFuture<Void> detached = new CompletableFuture<>();
  private final AtomicBoolean closing = new AtomicBoolean();
  private @Nullable ConnectedSource connected;
  private @Nullable RelayIdentity lastRelay;
  private @Nullable ShutdownWatch shutdownWatch;
  private @Nullable Timer retry;
  private boolean dialing;
  private boolean closed;
  private long connectedAtNanos;
  private int catalogFailures;
  private volatile @Nullable SourceSession session;
  private volatile String status = "not connected yet";

  private SourceAttachment(
      String label,
      PoolBoard board,
      @Nullable Dialer dialer,
      @Nullable RelayPublicationSource given,
      Consumer<SourceAttachment> forget) {
    this.label = label;
    this.forget = forget;
    this.board = board;
    this.runtime = board.runtime();
    this.mailbox = new SerialExecutor(runtime.executor());
    this.dialer = dialer;
    this.given = given;
    this.backoff = new Backoff(runtime);
  }

  static SourceAttachment ofSource(
      RelayPublicationSource source, PoolBoard board, Consumer<SourceAttachment> forget) {
    return new SourceAttachment("relay " + source.relayIdentity(), board, null, source, forget);
  }

  static SourceAttachment ofAddress(
      URI address, ViewConfig config, PoolBoard board, Consumer<SourceAttachment> forget) {
    RelayTransport transport = RelayTransports.forAddress(address);
    ConnectOptions options =
        new ConnectOptions(
            board.runtime(),
            config.subscriberId(),
            config.connectTimeout(),
            config.transportAttributes());
    return new SourceAttachment(
        address.toString(), board, new Dialer(transport, address, options), null, forget);
  }

  /** Order of attachment. */
  long order() {
    return order;
  }

  void start() {
    mailbox.execute(
        () -> {
          if (given != null) {
            begin(given);
          } else {
            dial();
          }
        });
  }

  // Connecting.

  private void dial() {
    if (closed || dialing || dialer == null) {
      return;
    }
    dialing = true;
    status = "connecting";
    connectedAtNanos = runtime.nanoTime();
    board.counters().increment(ViewCounter.CONNECTION_ATTEMPTS);
    dialer.dial().whenComplete((source, failure) -> mailbox.execute(() -> dialed(source, failure)));
  }

  private void dialed(@Nullable ConnectedSource source, @Nullable Throwable failure) {
    dialing = false;
    if (closed) {
      disconnect(source);
      return;
    }
    if (source == null) {
      board.counters().increment(ViewCounter.CONNECTION_FAILURES);
      dialFailed(StreamPlane.relayException(FilterReplica.unwrap(failure)));
      return;
    }
    connectedAtNanos = runtime.nanoTime();
    catalogFailures = 0;
    SourceSession current = session;
    if (current == null || !current.relay().equals(source.relayIdentity())) {
      adopt(source);
      replace(current, source);
    } else if (isAnythingCurrent(current)) {
      status = CONNECTED; // the old connection has recovered meanwhile
      disconnect(source);
    } else {
      adopt(source);
      status = CONNECTED;
      watchShutdown(source);
      current.continueOver(source);
    }
  }

  private void adopt(ConnectedSource source) {
    disconnect(connected);
    connected = source;
  }

  private void replace(@Nullable SourceSession former, ConnectedSource source) {
    if (former != null) {
      board.remove(former, "relay " + source.relayIdentity() + " has taken its place", () -> {});
    }
    begin(source);
  }

  private void begin(RelayPublicationSource source) {
    if (closed) {
      return;
    }
    SourceSession next = new SourceSession(label, source, board, this::planeReported);
    if (lastRelay != null && !lastRelay.equals(next.relay())) {
      board.counters().increment(ViewCounter.INCARNATION_CHANGES);
    }
    lastRelay = next.relay();
    session = next;
    status = CONNECTED;
    board.add(next);
    watchShutdown(source);
  }

  private void watchShutdown(RelayPublicationSource source) {
    ShutdownWatch watch = new ShutdownWatch(this, source);
    shutdownWatch = watch;
    source.shutdown().whenComplete((done, failure) -> watch.fire());
  }

  /**
   * Waits for a source's end. A source may outlive many attachments and its stage keeps whoever
   * waits on it, so an attachment that ends lets go of its watch.
   */
  private static final class ShutdownWatch {
    private final RelayPublicationSource source;
    private volatile @Nullable SourceAttachment attachment;

    ShutdownWatch(SourceAttachment attachment, RelayPublicationSource source) {
      this.attachment = attachment;
      this.source = source;
    }

    void fire() {
      SourceAttachment waiting = attachment;
      if (waiting != null) {
        waiting.mailbox.execute(() -> waiting.sourceShutDown(source));
      }
    }

    void letGo() {
      attachment = null;
    }
  }

  private void sourceShutDown(RelayPublicationSource source) {
    SourceSession current = session;
    if (closed || current == null || current.source() != source) {
      return;
    }
    if (dialer == null) {
      finish("the source has shut down");
      return;
    }
    status = "the connected source has shut down";
    session = null;
    ConnectedSource dead = connected;
    connected = null;
    board.remove(current, status, () -> disconnect(dead));
    backOff();
  }

  private void dialFailed(RelayException failure) {
    String what = failure.reason() + ": " + failure.getMessage();
    if (failure.action() == RecoveryAction.STOP || failure.action() == RecoveryAction.FIX_REQUEST) {
      status = "stopped: " + what;
      return;
    }
    status = what;
    backOff();
  }

  private void backOff() {
    Timer pending = retry;
    if (pending != null) {
      pending.cancel();
    }
    retry =
        runtime.schedule(
            backoff.nextDelayNanos(runtime.nanoTime() - connectedAtNanos),
            () -> mailbox.execute(this::retryNow));
  }

  private void retryNow() {
    if (retry == null) {
      return;
    }
    retry = null;
    SourceSession current = session;
    if (current != null && isAnythingCurrent(current)) {
      status = CONNECTED;
      catalogFailures = 0;
    } else {
      dial();
    }
  }

  /** A connection that has died quietly shows only in its streams. */
  private void planeReported(PlaneKind plane, StreamPlane.Report report) {
    if (dialer == null || plane != PlaneKind.CATALOG) {
      return;
    }
    mailbox.execute(
        () -> {
          if (report.status() == PlaneStatus.CURRENT) {
            catalogFailures = 0;
          } else if (report.status() == PlaneStatus.BACKING_OFF) {
            catalogFailures++;
            reconnectIfDead();
          }
        });
  }

  private void reconnectIfDead() {
    SourceSession current = session;
    if (closed
        || current == null
        || retry != null
        || dialing
        || catalogFailures < FAILURES_BEFORE_RECONNECT
        || isAnythingCurrent(current)) {
      return;
    }
    status = "nothing of the connected source is current: connecting again";
    backOff();
  }

  private boolean isAnythingCurrent(SourceSession current) {
    if (current.readinessPlane().report().status() == PlaneStatus.CURRENT
        || current.loadPlane().report().status() == PlaneStatus.CURRENT) {
      return true;
    }
    for (PoolSlot slot : board.slots().values()) {
      FilterReplica replica = slot.replica();
      if (slot.session() == current && replica != null && replica.isServing()) {
        return true;
      }
    }
    return false;
  }

  // Ending.

  @Override
  public void close() {
    if (closing.compareAndSet(false, true)) {
      mailbox.execute(() -> finish("detached"));
    }
  }

  private void finish(String why) {
    if (closed) {
      return;
    }
    closed = true;
    status = why;
    if (shutdownWatch != null) {
      shutdownWatch.letGo();
    }
    Timer pending = retry;
    if (pending != null) {
      pending.cancel();
    }
    SourceSession current = session;
    session = null;
    if (current == null) {
      detach();
    } else {
      board.remove(current, why, () -> mailbox.execute(this::detach));
    }
  }

  private void detach() {
    disconnect(connected);
    connected = null;
    forget.accept(this); // so that whoever waits for the end finds it gone
    detached.complete(null);
  }

  private static void disconnect(@Nullable ConnectedSource source) {
    if (source != null) {
      source.close();
    }
  }

  @Override
  public CompletionStage<Void> detached() {
    return detached.minimalCompletionStage();
  }

  // Showing.

  @Override
  public String label() {
    return label;
  }

  @Override
  public SourceState state() {
    SourceSession current = session;
    return current == null
        ? new SourceState(
            label, null, SourceState.Trust.UNKNOWN, status, Map.of(), List.of(), List.of())
        : new SourceStates(board, current).describe(status);
  }

  @Override
  public String toString() {
    return "Attachment[" + label + ", " + status + "]";
  }
}
