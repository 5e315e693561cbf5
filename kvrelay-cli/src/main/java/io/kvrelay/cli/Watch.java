package io.kvrelay.cli;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectedSource;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Follows all streams of one relay and tells each thing that arrives. Everything but the arrival
 * itself happens on the thread that calls {@link #run}. The relay's life is the catalog stream: its
 * end ends the watch; every other stream that is lost is opened again after a while, unless its
 * error says that this is pointless.
 */
final class Watch {
  private static final long POLL_MILLIS = 100;
  private static final long FIRST_RETRY_MILLIS = 500;
  private static final int RETRY_DOUBLINGS = 6;

  private final ConnectedSource source;
  private final RelayRuntime runtime;
  private final WatchOutput output;
  // Bounded by what the taps ask for.
  private final BlockingQueue<Runnable> inbox = new LinkedBlockingQueue<>();
  private final Map<ProducerIdentity, WatchedPool> pools = new LinkedHashMap<>();
  private @Nullable PoolCatalog lastCatalog;
  private @Nullable TopologySnapshot lastReadiness;
  private int readinessFailures;
  private int loadFailures;
  private boolean over;
  private @Nullable Throwable lost;

  Watch(ConnectedSource source, RelayRuntime runtime, WatchOutput output) {
    this.source = source;
    this.runtime = runtime;
    this.output = output;
  }

  /**
   * Watches until the relay is gone, nobody reads any more, or the caller wants to stop.
   *
   * @param stop asked ten times a second
   * @throws FailureException if the relay was lost
   */
  void run(BooleanSupplier stop) {
    output.info(source.address(), source.relayIdentity());
    source
        .catalog()
        .subscribe(new Tap<>(inbox::add, value -> () -> onCatalog(value), this::catalogEnded));
    openReadiness();
    openLoad();
    try {
      while (!over && !stop.getAsBoolean() && !output.isBroken()) {
        Runnable next = inbox.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
        if (next != null) {
          next.run();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (lost != null) {
      throw new FailureException(source.address() + ": " + FailureException.describe(lost));
    }
  }

  private void catalogEnded(@Nullable Throwable failure) {
    output.ended("catalog", null, failure, OptionalLong.empty());
    lost = failure;
    over = true;
  }

  private void onCatalog(PoolCatalog catalog) {
    boolean repeated = catalog.equals(lastCatalog);
    lastCatalog = catalog;
    output.catalog(catalog, repeated);
    Map<ProducerIdentity, PoolDescriptor> shown = new LinkedHashMap<>();
    catalog.pools().forEach(pool -> shown.put(pool.producer(), pool));
    pools.values().removeIf(pool -> isWithdrawn(pool, shown));
    shown.forEach(
        (producer, descriptor) -> {
          WatchedPool known = pools.get(producer);
          if (known == null) {
            WatchedPool pool = new WatchedPool(descriptor);
            pools.put(producer, pool);
            openPool(pool);
          } else {
            known.describe(descriptor);
          }
        });
  }

  private boolean isWithdrawn(WatchedPool pool, Map<ProducerIdentity, PoolDescriptor> shown) {
    if (shown.containsKey(pool.producer())) {
      return false;
    }
    pool.close();
    output.withdrawn(pool);
    return true;
  }

  private void openReadiness() {
    source
        .readiness()
        .subscribe(
            new Tap<TopologySnapshot>(
                inbox::add,
                value -> () -> onReadiness(value),
                failure ->
                    lostStream("readiness", failure, readinessFailures++, this::openReadiness)));
  }

  private void onReadiness(TopologySnapshot readiness) {
    readinessFailures = 0;
    output.readiness(readiness, readiness.equals(lastReadiness));
    lastReadiness = readiness;
  }

  private void openLoad() {
    source
        .load()
        .subscribe(
            new Tap<LoadSnapshot>(
                inbox::add,
                value -> () -> onLoad(value),
                failure -> lostStream("load", failure, loadFailures++, this::openLoad)));
  }

  private void onLoad(LoadSnapshot load) {
    loadFailures = 0;
    output.load(load);
  }

  private void lostStream(
      String stream, @Nullable Throwable failure, int failures, Runnable reopen) {
    OptionalLong delay = retryMillis(failure, failures);
    output.ended(stream, null, failure, delay);
    delay.ifPresent(millis -> later(millis, reopen));
  }

  private void openPool(WatchedPool pool) {
    Tap<PublicationFrame> tap =
        new Tap<>(
            inbox::add,
            frame -> {
              long receivedMicros = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
              return () -> onFrame(pool, frame, receivedMicros);
            },
            failure -> poolEnded(pool, failure));
    pool.open(tap);
    source.pool(pool.producer()).subscribe(tap);
  }

  private void onFrame(WatchedPool pool, PublicationFrame frame, long receivedMicros) {
    FrameFacts facts;
    try {
      facts = pool.accept(frame, receivedMicros);
    } catch (RelayException malformed) {
      pool.close();
      poolEnded(pool, malformed);
      return;
    }
    output.frame(pool, facts);
  }

  private void poolEnded(WatchedPool pool, @Nullable Throwable failure) {
    OptionalLong delay = retryMillis(failure, pool.failures() - 1);
    output.ended("pool", pool, failure, delay);
    delay.ifPresent(
        millis ->
            later(
                millis,
                () -> {
                  if (pools.get(pool.producer()) == pool) {
                    openPool(pool);
                  }
                }));
  }

  /** A clean end that was not asked for says as little as a lost connection. */
  private static OptionalLong retryMillis(@Nullable Throwable failure, int failures) {
    boolean worthIt =
        !(failure instanceof RelayException relay)
            || relay.action() == RecoveryAction.RETRY_WITH_BACKOFF;
    return worthIt
        ? OptionalLong.of(FIRST_RETRY_MILLIS << Math.max(0, Math.min(failures, RETRY_DOUBLINGS)))
        : OptionalLong.empty();
  }

  private void later(long millis, Runnable work) {
    runtime.schedule(TimeUnit.MILLISECONDS.toNanos(millis), () -> inbox.add(work));
  }
}
