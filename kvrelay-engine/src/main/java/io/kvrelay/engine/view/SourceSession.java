package io.kvrelay.engine.view;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One relay life that the view follows: its catalog, readiness and load plane, and what they hold.
 * The filter replicas belong to the pools' slots on the board.
 *
 * <pre>
 * field                     mode       guarded by
 * source                    volatile   replaced by the attachment when it has connected again
 * catalog, readiness, load  volatile   immutable values, replaced in the board's mailbox
 * </pre>
 */
final class SourceSession {
  private final String label;
  private final PoolBoard board;
  private final Watcher watcher;
  private final RelayIdentity relay;
  private final WatchPlane<PoolCatalog> catalogPlane;
  private final WatchPlane<TopologySnapshot> readinessPlane;
  private final WatchPlane<LoadSnapshot> loadPlane;
  private volatile RelayPublicationSource source;

  private volatile @Nullable PoolCatalog catalog;
  private volatile @Nullable Map<ReadinessRules.Key, TopologyEntry> readiness;
  private volatile List<QuarantinedEntry> readinessQuarantine = List.of();
  private volatile @Nullable Map<ProducerIdentity, PoolLoad> loads;
  private volatile List<QuarantinedEntry> loadQuarantine = List.of();

  /** Hears how the planes stand, in their mailboxes. */
  interface Watcher {
    void reported(PlaneKind plane, StreamPlane.Report report);
  }

  SourceSession(String label, RelayPublicationSource source, PoolBoard board, Watcher watcher) {
    this.label = label;
    this.watcher = watcher;
    this.board = board;
    this.source = source;
    this.relay = source.relayIdentity();
    RelayRuntime runtime = board.runtime();
    ViewCounters counters = board.counters();
    this.catalogPlane =
        new WatchPlane<>(
            PlaneKind.CATALOG,
            runtime,
            counters,
            () -> current().catalog(),
            new CatalogRules(counters),
            new Updates<>(this::catalog));
    this.readinessPlane =
        new WatchPlane<>(
            PlaneKind.READINESS,
            runtime,
            counters,
            () -> current().readiness(),
            new ReadinessRules(counters),
            new Updates<>(this::readiness));
    this.loadPlane =
        new WatchPlane<>(
            PlaneKind.LOAD,
            runtime,
            counters,
            () -> current().load(),
            new LoadRules(counters),
            new Updates<>(this::load));
  }

  /** Carries a plane's news to the board. */
  private final class Updates<T> implements WatchPlane.Listener<T> {
    private final Consumer<@Nullable T> update;

    private Updates(Consumer<@Nullable T> update) {
      this.update = update;
    }

    @Override
    public void replaced(T state) {
      board.run(() -> update.accept(state));
    }

    @Override
    public void invalidated(String reason) {
      board.run(() -> update.accept(null));
    }

    @Override
    public void reported(PlaneKind kind, StreamPlane.Report report) {
      board.planeReported(SourceSession.this, kind, report);
      watcher.reported(kind, report);
    }
  }

  void start() {
    catalogPlane.start();
    readinessPlane.start();
    loadPlane.start();
  }

  void close(String why) {
    catalogPlane.close(why);
    readinessPlane.close(why);
    loadPlane.close(why);
  }

  /** Goes on over another connection to the same relay life. */
  void continueOver(RelayPublicationSource other) {
    source = other;
    catalogPlane.restart();
    readinessPlane.restart();
    loadPlane.restart();
  }

  // What the planes hold; changed in the board's mailbox.

  private void catalog(@Nullable PoolCatalog next) {
    catalog = next;
    board.catalogChanged(this);
  }

  private void readiness(@Nullable TopologySnapshot next) {
    if (next == null) {
      readiness = null;
      readinessQuarantine = List.of();
    } else {
      Map<ReadinessRules.Key, TopologyEntry> entries = new HashMap<>();
      next.entries().forEach(entry -> entries.put(ReadinessRules.Key.of(entry), entry));
      readiness = entries;
      readinessQuarantine = next.quarantined();
    }
    board.readinessChanged(this);
  }

  private void load(@Nullable LoadSnapshot next) {
    if (next == null) {
      loads = null;
      loadQuarantine = List.of();
    } else {
      Map<ProducerIdentity, PoolLoad> entries = new HashMap<>();
      next.pools().forEach(load -> entries.put(load.producer(), load));
      loads = entries;
      loadQuarantine = next.quarantined();
    }
    board.loadChanged(this);
  }

  @Nullable PoolCatalog catalog() {
    return catalog;
  }

  @Nullable Map<ReadinessRules.Key, TopologyEntry> readiness() {
    return readiness;
  }

  List<QuarantinedEntry> quarantined() {
    List<QuarantinedEntry> all = new ArrayList<>();
    PoolCatalog current = catalog;
    if (current != null) {
      all.addAll(current.quarantined());
    }
    all.addAll(readinessQuarantine);
    all.addAll(loadQuarantine);
    return all;
  }

  /** The load of a generation as the current window shows it. */
  LoadReading loadOf(ProducerIdentity producer) {
    Map<ProducerIdentity, PoolLoad> current = loads;
    if (current == null) {
      return LoadReading.DISCONNECTED;
    }
    PoolLoad load = current.get(producer);
    return load == null ? LoadReading.NOT_REPORTED : LoadReading.of(load);
  }

  /** Load entries of a pool's other generations. */
  long strayLoads(ProducerIdentity producer) {
    Map<ProducerIdentity, PoolLoad> current = loads;
    return current == null
        ? 0
        : current.keySet().stream()
            .filter(other -> other.poolId().equals(producer.poolId()) && !other.equals(producer))
            .count();
  }

  /** A pool is gone: should it come back, the next window speaks for it, not this one. */
  void forgetLoad(ProducerIdentity producer) {
    Map<ProducerIdentity, PoolLoad> current = loads;
    if (current != null) {
      Map<ProducerIdentity, PoolLoad> rest = new HashMap<>(current);
      rest.keySet().removeIf(other -> other.poolId().equals(producer.poolId()));
      loads = rest;
    }
  }

  // Thread-safe.

  String label() {
    return label;
  }

  RelayIdentity relay() {
    return relay;
  }

  /** The source, if it is still the life that the session follows. */
  private RelayPublicationSource current() {
    RelayPublicationSource now = source;
    if (!now.relayIdentity().equals(relay)) {
      throw StreamPlane.violation(
          "relay identity = " + now.relayIdentity() + ": was " + relay + " before");
    }
    return now;
  }

  RelayPublicationSource source() {
    return source;
  }

  Flow.Publisher<PublicationFrame> stream(ProducerIdentity producer) {
    return current().pool(producer);
  }

  WatchPlane<PoolCatalog> catalogPlane() {
    return catalogPlane;
  }

  WatchPlane<TopologySnapshot> readinessPlane() {
    return readinessPlane;
  }

  WatchPlane<LoadSnapshot> loadPlane() {
    return loadPlane;
  }
}
