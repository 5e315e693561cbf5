package io.kvrelay.engine.view;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Where the planes of all sources meet: decides which source provides which pool, gives pools their
 * lanes, and publishes the name index that queries read.
 *
 * <p>Catalog snapshots are complete, so every change ends in the same step: work out which pool
 * belongs to which session now, release what is gone, admit what is new, publish. A pool stays with
 * the session that has it as long as that one's catalog shows it; a session whose catalog is
 * invalid for the moment keeps the replicas it has, because the filter streams are planes of their
 * own, unless another session shows the pool.
 *
 * <pre>
 * field                  mode       guarded by
 * directory              volatile   written in the mailbox
 * slots (by pool)        volatile   replaced as a whole in the mailbox
 * sessions, tables       volatile   replaced as a whole in the mailbox
 * all others             plain      the mailbox
 * </pre>
 */
final class PoolBoard {
  private static final System.Logger LOG = System.getLogger(PoolBoard.class.getName());

  private record Claim(SourceSession session, PoolDescriptor descriptor) {}

  private record Refusal(SourceSession session, ProducerIdentity producer, ViewCounter reason) {}

  private final RelayRuntime runtime;
  private final ViewConfig config;
  private final ViewCounters counters;
  private final SerialExecutor mailbox;
  private final long consumerInstance;
  private final List<ViewListener> listeners = new CopyOnWriteArrayList<>();
  private final SequenceWaiters waiters;
  private final Set<PoolId> releasing = new HashSet<>();
  private Set<Refusal> refusals = Set.of();
  private boolean closed;
  private volatile Map<PoolId, PoolSlot> slots = Map.of();
  private volatile Map<ViewTable.Key, ViewTable> tables = Map.of();
  private volatile List<SourceSession> sessions = List.of();
  private volatile Directory directory = Directory.EMPTY;

  PoolBoard(RelayRuntime runtime, ViewConfig config, ViewCounters counters) {
    this.runtime = runtime;
    this.config = config;
    this.counters = counters;
    this.mailbox = new SerialExecutor(runtime.executor());
    this.consumerInstance = runtime.randomLong();
    this.waiters = new SequenceWaiters(mailbox, this::slot);
  }

  RelayRuntime runtime() {
    return runtime;
  }

  ViewCounters counters() {
    return counters;
  }

  long maxAgeNanos(PlaneKind plane) {
    return config.maxAgeNanos(plane);
  }

  List<ViewListener> listeners() {
    return listeners;
  }

  SequenceWaiters waiters() {
    return waiters;
  }

  Directory directory() {
    return directory;
  }

  List<SourceSession> sessions() {
    return sessions;
  }

  Map<ViewTable.Key, ViewTable> tables() {
    return tables;
  }

  Map<PoolId, PoolSlot> slots() {
    return slots;
  }

  @Nullable PoolSlot slot(PoolId pool) {
    return slots.get(pool);
  }

  void run(Runnable task) {
    mailbox.execute(task);
  }

  // Sessions come and go.

  void add(SourceSession session) {
    run(
        () -> {
          if (!closed) {
            sessions = plus(sessions, session);
            session.start();
          }
        });
  }

  /**
   * Lets go of a session.
   *
   * @param then run once its streams are being cancelled and its pools are out of all answers
   */
  void remove(SourceSession session, String why, Runnable then) {
    run(
        () -> {
          session.close(why);
          if (sessions.contains(session)) {
            List<SourceSession> rest = new ArrayList<>(sessions);
            rest.remove(session);
            sessions = List.copyOf(rest);
            reconcile();
          }
          then.run();
        });
  }

  void close(String why, Runnable then) {
    run(
        () -> {
          closed = true;
          sessions.forEach(session -> session.close(why));
          sessions = List.of();
          reconcile();
          waiters.close(why);
          then.run();
        });
  }

  private static <T> List<T> plus(List<T> list, T one) {
    List<T> copy = new ArrayList<>(list);
    copy.add(one);
    return List.copyOf(copy);
  }

  // News from the planes.

  void catalogChanged(SourceSession session) {
    if (sessions.contains(session)) {
      reconcile();
    }
  }

  void readinessChanged(SourceSession session) {
    if (sessions.contains(session)) {
      publish();
    }
  }

  void loadChanged(SourceSession session) {
    if (!sessions.contains(session)) {
      return;
    }
    for (PoolSlot slot : slots.values()) {
      if (slot.session() == session) {
        slot.load(session.loadOf(slot.producer()));
        counters.add(
            ViewCounter.LOAD_ENTRIES_OF_OTHER_GENERATION, session.strayLoads(slot.producer()));
      }
    }
  }

  void planeReported(SourceSession session, PlaneKind plane, StreamPlane.Report report) {
    tell(
        listener ->
            listener.planeChanged(session.label(), plane, report.status(), report.reason()));
  }

  private void tell(Consumer<ViewListener> news) {
    if (listeners.isEmpty()) {
      return;
    }
    run(
        () ->
            listeners.forEach(
                listener -> {
                  try {
                    news.accept(listener);
                  } catch (RuntimeException e) {
                    counters.increment(ViewCounter.LISTENER_FAILURES);
                    LOG.log(Level.WARNING, () -> "a listener of the view failed: " + e);
                    LOG.log(Level.DEBUG, "where it failed", e);
                  }
                }));
  }

  // The one step.

  private void reconcile() {
    Map<PoolId, Claim> wanted = claims();
    dropEmptyTables(wanted); // their memory may be what somebody waits for
    Map<PoolId, PoolSlot> next = new LinkedHashMap<>();
    Set<Refusal> refused = duplicates(wanted);
    for (PoolSlot slot : slots.values()) {
      Claim claim = wanted.get(slot.poolId());
      if (claim == null || !isSame(slot, claim)) {
        letGo(slot, claim);
      } else if (slot.replica() != null) {
        next.put(slot.poolId(), slot);
        slot.replica().advertised();
      }
    }
    wanted.forEach((pool, claim) -> next.computeIfAbsent(pool, p -> admit(claim, refused)));
    retain(next, wanted);
    countNew(refused);
    slots = Map.copyOf(next);
    dropEmptyTables(wanted);
    publish();
    waiters.check();
  }

  private static boolean isSame(PoolSlot slot, Claim claim) {
    return slot.session() == claim.session()
        && slot.producer().equals(claim.descriptor().producer());
  }

  /** Who provides which pool, from the catalogs that are current. */
  private Map<PoolId, Claim> claims() {
    Map<PoolId, Claim> wanted = new LinkedHashMap<>();
    for (SourceSession session : sessions) {
      PoolCatalog catalog = session.catalog();
      if (catalog == null) {
        continue;
      }
      for (PoolDescriptor descriptor : catalog.pools()) {
        PoolSlot present = slots.get(descriptor.poolId());
        Claim claim = new Claim(session, descriptor);
        if (present != null && present.session() == session) {
          wanted.put(descriptor.poolId(), claim);
        } else {
          wanted.putIfAbsent(descriptor.poolId(), claim);
        }
      }
    }
    return wanted;
  }

  private Set<Refusal> duplicates(Map<PoolId, Claim> wanted) {
    Set<Refusal> refused = new HashSet<>();
    for (SourceSession session : sessions) {
      PoolCatalog catalog = session.catalog();
      if (catalog != null) {
        for (PoolDescriptor descriptor : catalog.pools()) {
          Claim claim = wanted.get(descriptor.poolId());
          if (claim != null && claim.session() != session) {
            refused.add(
                new Refusal(session, descriptor.producer(), ViewCounter.POOLS_REFUSED_DUPLICATE));
          }
        }
      }
    }
    return refused;
  }

  /** Filter streams outlive an invalid catalog: nobody has said that these pools are gone. */
  private void retain(Map<PoolId, PoolSlot> next, Map<PoolId, Claim> wanted) {
    for (PoolSlot slot : slots.values()) {
      if (isRetained(slot) && !wanted.containsKey(slot.poolId())) {
        next.put(slot.poolId(), slot);
      }
    }
  }

  private boolean isRetained(PoolSlot slot) {
    return slot.replica() != null
        && slot.session().catalog() == null
        && sessions.contains(slot.session());
  }

  private void letGo(PoolSlot slot, @Nullable Claim successor) {
    if (successor == null && isRetained(slot)) {
      return;
    }
    if (successor == null || successor.session() != slot.session()) {
      slot.session().forgetLoad(slot.producer());
    }
    FilterReplica replica = slot.replica();
    ViewTable table = slot.table();
    if (replica == null || table == null) {
      return;
    }
    PoolId pool = slot.poolId();
    releasing.add(pool);
    counters.increment(ViewCounter.POOLS_RELEASED);
    String why =
        successor == null
            ? "no catalog shows the pool"
            : "replaced by " + successor.descriptor().producer();
    replica.close(
        why,
        () ->
            table
                .release(slot.lane())
                .whenComplete((released, failure) -> run(() -> released(pool, failure))));
  }

  /** A lane has become free: somebody may have waited for it. */
  private void released(PoolId pool, @Nullable Throwable failure) {
    if (failure != null) {
      LOG.log(Level.WARNING, "the lane of pool " + pool + " was not released", failure);
    }
    releasing.remove(pool);
    reconcile();
  }

  private PoolSlot admit(Claim claim, Set<Refusal> refused) {
    ProducerIdentity producer = claim.descriptor().producer();
    SourceSession session = claim.session();
    if (releasing.contains(producer.poolId())) {
      return slotOf(PoolSlot.pending(session, producer));
    }
    try {
      ViewTable table = tableFor(ViewTable.Key.of(producer));
      if (table == null) {
        refused.add(new Refusal(session, producer, ViewCounter.POOLS_REFUSED_NO_MEMORY));
        return slotOf(
            PoolSlot.refused(
                session,
                producer,
                "its table would exceed max_table_bytes = " + config.maxTableBytes()));
      }
      return follow(session, producer, table);
    } catch (LaneException e) {
      refused.add(new Refusal(session, producer, reason(e)));
      return slotOf(PoolSlot.refused(session, producer, String.valueOf(e.getMessage())));
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "no lane could be set up for " + producer, e);
      refused.add(new Refusal(session, producer, reason(e)));
      return slotOf(PoolSlot.refused(session, producer, "its lane could not be set up: " + e));
    }
  }

  private static ViewCounter reason(Throwable failure) {
    if (failure instanceof LaneException known && known.error() != LaneError.ALLOCATION_FAILED) {
      return ViewCounter.POOLS_REFUSED_NO_LANE;
    }
    return failure instanceof LaneException || failure instanceof OutOfMemoryError
        ? ViewCounter.POOLS_REFUSED_NO_MEMORY
        : ViewCounter.POOLS_REFUSED_SET_UP_FAILED;
  }

  /** Binds a lane and starts its replica, or leaves the lane free. */
  private PoolSlot follow(SourceSession session, ProducerIdentity producer, ViewTable table) {
    int lane = table.bind(producer.poolId());
    try {
      FilterReplica replica =
          new FilterReplica(
              producer,
              table.lane(lane),
              new ReplicaHost(session),
              runtime,
              counters,
              config.frameWindow());
      PoolSlot slot = slotOf(PoolSlot.admitted(session, producer, table, lane, replica));
      replica.start(); // last: what has started would need the lane
      counters.increment(ViewCounter.POOLS_ADMITTED);
      return slot;
    } catch (RuntimeException | Error e) {
      table.unbind(lane);
      throw e;
    }
  }

  private static PoolSlot slotOf(PoolSlot slot) {
    slot.load(slot.session().loadOf(slot.producer()));
    return slot;
  }

  private @Nullable ViewTable tableFor(ViewTable.Key key) {
    ViewTable present = tables.get(key);
    if (present != null) {
      return present;
    }
    long bytes = key.bytes(config.lanes());
    for (ViewTable table : tables.values()) {
      bytes += table.key().bytes(config.lanes());
    }
    if (bytes > config.maxTableBytes()) {
      return null;
    }
    ViewTable table = new ViewTable(key, consumerInstance, config, runtime, counters);
    Map<ViewTable.Key, ViewTable> more = new LinkedHashMap<>(tables);
    more.put(key, table);
    tables = Map.copyOf(more);
    return table;
  }

  /** Keeps the table of a pool that is released only to come back as another generation. */
  private void dropEmptyTables(Map<PoolId, Claim> wanted) {
    Set<ViewTable.Key> pending = new HashSet<>();
    wanted.forEach(
        (pool, claim) -> {
          PoolSlot slot = slots.get(pool);
          if (releasing.contains(pool) || (slot != null && slot.isPending())) {
            pending.add(ViewTable.Key.of(claim.descriptor().producer()));
          }
        });
    Map<ViewTable.Key, ViewTable> left = new LinkedHashMap<>(tables);
    left.values()
        .removeIf(
            table -> {
              if (table.isEmpty() && !pending.contains(table.key())) {
                table.shutDown();
                return true;
              }
              return false;
            });
    if (left.size() != tables.size()) {
      tables = Map.copyOf(left);
    }
  }

  /** A refusal is counted when it begins, not with every catalog that repeats it. */
  private void countNew(Set<Refusal> refused) {
    for (Refusal refusal : refused) {
      if (!refusals.contains(refusal)) {
        counters.increment(refusal.reason());
        LOG.log(
            Level.WARNING,
            "pool {0} of {1} is refused: {2}",
            refusal.producer().poolId(),
            refusal.session().label(),
            refusal.reason());
      }
    }
    refusals = refused;
  }

  // The name index.

  private void publish() {
    Directory.Builder builder = new Directory.Builder();
    for (SourceSession session : sessions) {
      PoolCatalog catalog = session.catalog();
      if (catalog != null) {
        for (PoolDescriptor descriptor : catalog.pools()) {
          PoolSlot slot = slots.get(descriptor.poolId());
          if (slot != null && slot.session() == session) {
            for (ModelRegistration registration : descriptor.registrations()) {
              builder.add(
                  new Route(
                      slot,
                      descriptor,
                      registration,
                      readiness(session, descriptor, registration)));
            }
          }
        }
      }
    }
    directory = builder.build();
  }

  private static PoolReadiness readiness(
      SourceSession session, PoolDescriptor descriptor, ModelRegistration registration) {
    Map<ReadinessRules.Key, TopologyEntry> entries = session.readiness();
    if (entries == null) {
      return PoolReadiness.DISCONNECTED;
    }
    boolean isAdapter = registration.target() instanceof ModelTarget.Lora;
    String model = isAdapter ? registration.target().baseModel() : registration.canonicalModelId();
    TopologyEntry entry =
        entries.get(new ReadinessRules.Key(descriptor.servingEndpoint().namespace(), model));
    if (entry == null || !hasMember(entry, descriptor)) {
      return PoolReadiness.NOT_REPORTED;
    }
    if (!isAdapter) {
      return readiness(entry.state());
    }
    for (AdapterReadiness adapter : entry.adapters()) {
      if (adapter.canonicalModelId().equals(registration.canonicalModelId())) {
        return both(entry.state(), adapter.state());
      }
    }
    return PoolReadiness.NOT_REPORTED;
  }

  private static boolean hasMember(TopologyEntry entry, PoolDescriptor descriptor) {
    for (TopologyMember member : entry.members()) {
      if (member.endpoint().equals(descriptor.servingEndpoint())) {
        return true;
      }
    }
    return false;
  }

  /** An adapter is ready only on a base that is. */
  private static PoolReadiness both(ServingState base, ServingState adapter) {
    if (base == ServingState.UNAVAILABLE || adapter == ServingState.UNAVAILABLE) {
      return PoolReadiness.UNAVAILABLE;
    }
    return base == ServingState.READY ? readiness(adapter) : PoolReadiness.UNKNOWN;
  }

  private static PoolReadiness readiness(ServingState state) {
    return switch (state) {
      case READY -> PoolReadiness.READY;
      case UNAVAILABLE -> PoolReadiness.UNAVAILABLE;
      case UNKNOWN -> PoolReadiness.UNKNOWN;
    };
  }

  /** What replicas of one session need. */
  private final class ReplicaHost implements FilterReplica.Host {
    private final SourceSession session;

    private ReplicaHost(SourceSession session) {
      this.session = session;
    }

    @Override
    public Flow.Publisher<PublicationFrame> stream(ProducerIdentity producer) {
      return session.stream(producer);
    }

    @Override
    public Runnable refreshCatalog(
        ProducerIdentity producer, Consumer<FilterReplica.Advertised> answer) {
      OneShot<PoolCatalog> look = OneShot.of(session.source().catalog());
      look.value().whenComplete((catalog, failure) -> answer.accept(advertised(producer, catalog)));
      return look::cancel;
    }

    private static FilterReplica.Advertised advertised(
        ProducerIdentity producer, @Nullable PoolCatalog catalog) {
      if (catalog == null) {
        return FilterReplica.Advertised.CATALOG_UNAVAILABLE;
      }
      boolean shown = catalog.pools().stream().anyMatch(pool -> pool.producer().equals(producer));
      return shown ? FilterReplica.Advertised.YES : FilterReplica.Advertised.NO;
    }

    @Override
    public void reported(FilterReplica replica, StreamPlane.Report report) {
      PoolId pool = replica.producer().poolId();
      tell(
          listener ->
              listener.replicaChanged(session.label(), pool, report.status(), report.reason()));
    }

    @Override
    public void advanced(FilterReplica replica) {
      waiters.advanced();
    }
  }
}
