package io.kvrelay.transport.grpc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes one load window per interval, idle or not, and keeps the latest few for subscribers that
 * are a little behind. Window 0 holds the source's first value. Losing the source's load before
 * shutdown is fatal to the export. Thread safe.
 */
final class LoadPublisher implements Flow.Subscriber<LoadSnapshot> {
  /** How long an orderly end of the load may come before the news that the source shuts down. */
  private static final Duration SHUTDOWN_GRACE = Duration.ofSeconds(1);

  private final StreamContext context;
  private final Consumer<Throwable> onLost;
  private final List<LoadStream> streams = new CopyOnWriteArrayList<>();
  private final @Nullable KvPoolLoadUpdate[] ring;

  // Guarded by this.
  private LoadSnapshot current = LoadSnapshot.EMPTY;
  private long head = -1;
  private @Nullable Ticker ticker;
  private Flow.@Nullable Subscription upstream;
  private @Nullable RelayException lost;
  private boolean stopped;

  LoadPublisher(StreamContext context, Consumer<Throwable> onLost) {
    this.context = context;
    this.onLost = onLost;
    this.ring = new KvPoolLoadUpdate[context.limits().loadFanoutCapacity()];
  }

  void start() {
    context.source().load().subscribe(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    boolean late;
    synchronized (this) {
      late = stopped || upstream != null;
      if (!late) {
        upstream = subscription;
      }
    }
    if (late) {
      subscription.cancel();
    } else {
      subscription.request(Long.MAX_VALUE);
    }
  }

  @Override
  public void onNext(LoadSnapshot snapshot) {
    synchronized (this) {
      current = snapshot;
      if (stopped || ticker != null) {
        return;
      }
      ticker = Ticker.start(context.runtime(), context.limits().loadWindow(), this::window);
    }
    window();
  }

  private void window() {
    synchronized (this) {
      if (stopped) {
        return;
      }
      head++;
      ring[slot(head)] = message(current, head);
    }
    context.counters().loadWindow();
    streams.forEach(LoadStream::onWindow);
  }

  private KvPoolLoadUpdate message(LoadSnapshot snapshot, long sequence) {
    KvPoolLoadUpdate.Builder wire =
        KvPoolLoadUpdate.newBuilder()
            .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
            .setRelay(KvRelayWire.toWire(context.relay()))
            .setWindowSequence(sequence)
            .setObservedMs(context.runtime().currentTimeMillis())
            .setWindowMs(context.limits().loadWindow().toMillis())
            .setContractMarker(KvRelayWire.CONTRACT_MARKER);
    snapshot.pools().forEach(load -> wire.addPools(KvRelayWire.toWire(load)));
    return wire.build();
  }

  private int slot(long sequence) {
    return (int) sequence & ring.length - 1;
  }

  /** The sequence of the current window, -1 before the first. */
  synchronized long head() {
    return head;
  }

  /** A window, or null if it does not exist yet or has been overwritten. */
  synchronized @Nullable KvPoolLoadUpdate at(long sequence) {
    return sequence > head || sequence <= head - ring.length ? null : ring[slot(sequence)];
  }

  int capacity() {
    return ring.length;
  }

  /** Adds a subscriber, or fails it at once if there is nothing to publish any more. */
  void join(LoadStream stream) {
    RelayException failure;
    synchronized (this) {
      failure = lost;
      if (failure == null) {
        streams.add(stream);
      }
    }
    if (failure == null) {
      stream.onWindow();
    } else {
      stream.failAs(failure);
    }
  }

  void leave(LoadStream stream) {
    streams.remove(stream);
  }

  @Override
  public void onError(Throwable failure) {
    lose("load of the source failed: " + failure.getMessage(), failure);
  }

  @Override
  public void onComplete() {
    // A source that shuts down completes its streams; the export hears of it by another way, so an
    // end that is not followed by that is a loss.
    context
        .runtime()
        .schedule(
            Nanos.of(SHUTDOWN_GRACE), () -> lose("load of the source ended unexpectedly", null));
  }

  private void lose(String text, @Nullable Throwable cause) {
    RelayErrorReason reason = RelayErrorReason.PUBLICATION_UNAVAILABLE;
    RelayException failure = new RelayException(reason, reason.action(), text, cause);
    List<LoadStream> ending;
    synchronized (this) {
      if (stopped) {
        return;
      }
      lost = failure;
      ending = new ArrayList<>(streams);
    }
    ending.forEach(stream -> stream.failAs(failure));
    stop();
    onLost.accept(failure);
  }

  void stop() {
    Flow.Subscription from;
    synchronized (this) {
      stopped = true;
      from = upstream;
      if (ticker != null) {
        ticker.stop();
      }
    }
    if (from != null) {
      from.cancel();
    }
  }
}
