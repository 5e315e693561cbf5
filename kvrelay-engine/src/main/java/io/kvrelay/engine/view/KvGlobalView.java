package io.kvrelay.engine.view;

import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.runtime.RelayRuntime;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A router's view of every data center it follows: which leading blocks of a request does each of
 * their pools probably hold, is the pool ready, and how loaded is it?
 *
 * <p>Attach any number of {@linkplain RelayPublicationSource sources}. For each of them the view
 * follows catalog, readiness and load, and one filter stream per pool, all independent of one
 * another; it keeps one table per indexer domain and filter format. A query resolves a name to
 * pools, hashes the prompt once per query semantics, and searches each table once.
 *
 * <p>Depths come from a lossy projection: a false positive can raise one, an omitted block or a
 * delta under way can lower one. "No answer" is always distinct from a depth of 0, an unknown load
 * from a load of 0, and a readiness that is not known from ready.
 *
 * <p>Thread safe. Nothing blocks; everything asynchronous runs on the runtime. {@link #match} and
 * {@link #explain} allocate; {@link #newQuery} makes an object that does not, once it has grown.
 */
public final class KvGlobalView implements AutoCloseable {
  private static final String CLOSED = "the view was closed";

  private final ViewConfig config;
  private final RelayRuntime runtime;
  private final ViewCounters counters = new ViewCounters();
  private final PoolBoard board;
  private final Set<SourceAttachment> attachments = ConcurrentHashMap.newKeySet();
  private final long maxFilterAgeNanos;
  private final long maxReadinessAgeNanos;
  private final long maxLoadAgeNanos;
  private final long maxCatalogAgeNanos;
  private volatile boolean closed;

  private KvGlobalView(ViewConfig config, RelayRuntime runtime) {
    this.config = config;
    this.runtime = runtime;
    this.board = new PoolBoard(runtime, config, counters);
    this.maxFilterAgeNanos = config.maxAgeNanos(PlaneKind.FILTER);
    this.maxReadinessAgeNanos = config.maxAgeNanos(PlaneKind.READINESS);
    this.maxLoadAgeNanos = config.maxAgeNanos(PlaneKind.LOAD);
    this.maxCatalogAgeNanos = config.maxAgeNanos(PlaneKind.CATALOG);
  }

  /**
   * Creates a view that follows nothing yet.
   *
   * @param config its settings
   * @param runtime clock, executor, timer and random source; stays the caller's
   * @return the view
   */
  public static KvGlobalView create(ViewConfig config, RelayRuntime runtime) {
    return new KvGlobalView(config, runtime);
  }

  /**
   * Follows a source. When it shuts down it is detached; a source never comes back.
   *
   * @param source a relay in this JVM, a connected source, or anything else
   * @return the attachment; close it to detach. The source stays the caller's
   * @throws RelayException with {@code CLOSED} if the view is closed
   */
  public Attachment attach(RelayPublicationSource source) {
    return register(SourceAttachment.ofSource(source, board, attachments::remove));
  }

  /**
   * Follows a source by address: connects, connects again with backoff and jitter whenever the
   * connection or the relay is lost, and starts over when another life of the relay answers. Never
   * gives up, unless the relay says that retrying is pointless.
   *
   * @param address the address, of a scheme some transport serves
   * @return the attachment, at once; its state tells whether it has connected
   * @throws RelayException with {@code CLOSED} if the view is closed, with {@code
   *     ADDRESS_UNAVAILABLE} if no transport has the scheme
   */
  public Attachment attach(URI address) {
    return register(SourceAttachment.ofAddress(address, config, board, attachments::remove));
  }

  private Attachment register(SourceAttachment attachment) {
    attachments.add(attachment);
    if (closed) {
      attachment.close();
      throw new RelayException(RelayErrorReason.CLOSED, CLOSED);
    }
    attachment.start();
    return attachment;
  }

  /**
   * Makes a reusable query.
   *
   * @return a query for one thread at a time
   */
  public ViewQuery newQuery() {
    return new ViewQuery(this);
  }

  /**
   * Answers one request. Allocates; see {@link #newQuery} for hot paths.
   *
   * @param request the request
   * @return every candidate pool
   */
  public PrefixMatch match(PrefixRequest request) {
    ViewQuery query = newQuery();
    request.fill(query);
    query.run();
    return query.toMatch();
  }

  /**
   * Answers one request and shows how: the hashes under each semantics, and where every source
   * stands. For people and tools; allocates and walks all state.
   *
   * @param request the request
   * @return the explanation
   */
  public Explanation explain(PrefixRequest request) {
    ViewQuery query = newQuery();
    request.fill(query);
    query.run();
    Map<QuerySemantics, Explanation.Hashes> hashes = new LinkedHashMap<>();
    for (int i = 0; i < query.size(); i++) {
      QuerySemantics semantics = query.descriptor(i).querySemantics();
      long[] locals = query.hashes().copyOf(semantics);
      if (locals != null) {
        hashes.putIfAbsent(semantics, Explanation.Hashes.of(locals));
      }
    }
    return new Explanation(query.toMatch(), hashes, state());
  }

  /**
   * Where the view stands.
   *
   * @return a snapshot
   */
  public ViewState state() {
    List<SourceState> sources = new ArrayList<>();
    attachments.stream()
        .sorted(Comparator.comparingLong(SourceAttachment::order))
        .forEach(attachment -> sources.add(attachment.state()));
    List<ViewState.TableState> tables = new ArrayList<>();
    board.tables().values().forEach(table -> tables.add(table.state()));
    return new ViewState(sources, tables, board.directory().ambiguousNames());
  }

  /**
   * What the view has counted.
   *
   * @return the counts
   */
  public ViewStatistics statistics() {
    return counters.snapshot();
  }

  /**
   * Tells a listener of changes from now on.
   *
   * @param listener the listener
   * @return close it to stop
   */
  public Registration addListener(ViewListener listener) {
    board.listeners().add(listener);
    return () -> board.listeners().remove(listener);
  }

  /** Ends something that was registered. */
  @FunctionalInterface
  public interface Registration extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * The sequence a pool's replica has installed.
   *
   * @param pool the pool
   * @return the unsigned sequence, or nothing while no replica is usable
   */
  public OptionalLong installedSequence(PoolId pool) {
    PoolSlot slot = board.slot(pool);
    FilterReplica replica = slot == null ? null : slot.replica();
    return replica != null && replica.isServing()
        ? OptionalLong.of(replica.installedSequence())
        : OptionalLong.empty();
  }

  /**
   * Waits until a pool's replica is usable and has reached a sequence. The pool need not be known
   * yet. With sequence 0 it waits for the first usable replica.
   *
   * @param pool the pool
   * @param sequence unsigned sequence
   * @return a stage; fails with {@code CLOSED} if the view closes first, with {@code
   *     RESOURCE_LIMIT} if thousands wait already. Cancel its future to stop waiting
   */
  public CompletableFuture<Void> awaitSequence(PoolId pool, long sequence) {
    return board.waiters().await(pool, sequence);
  }

  /**
   * Copies a pool's lane out of its table, to compare it with the producer's filter. Not atomic:
   * with deltas under way it may mix two sequences.
   *
   * @param pool the pool
   * @param out receives one word per bucket; must have the filter's bucket count
   * @return true if the replica was usable before and after the copy
   * @throws IllegalArgumentException if {@code out} has another length
   */
  public boolean copyLaneWords(PoolId pool, long[] out) {
    PoolSlot slot = board.slot(pool);
    if (slot == null) {
      return false;
    }
    FilterReplica replica = slot.replica();
    ViewTable table = slot.table();
    if (replica == null || table == null || !replica.isServing()) {
      return false;
    }
    int buckets = table.key().format().bucketCount();
    if (out.length != buckets) {
      throw new IllegalArgumentException(
          "out.length = " + out.length + ": the filter has " + buckets + " buckets");
    }
    TransposedTable words = table.index().table();
    for (int bucket = 0; bucket < buckets; bucket++) {
      out[bucket] = words.get(bucket, slot.lane());
    }
    return replica.isServing() && board.slot(pool) == slot;
  }

  /**
   * The pools of all current catalogs, whatever state they are in.
   *
   * @return descriptors in the order of the sources
   */
  public List<PoolDescriptor> pools() {
    List<PoolDescriptor> all = new ArrayList<>();
    for (SourceSession session : board.sessions()) {
      PoolCatalog catalog = session.catalog();
      if (catalog != null) {
        all.addAll(catalog.pools());
      }
    }
    return all;
  }

  /**
   * Detaches every source and gives all memory back. Queries find nothing from now on. Idempotent;
   * does not wait.
   */
  @Override
  public void close() {
    closed = true;
    attachments.forEach(SourceAttachment::close);
    board.close(CLOSED, () -> {});
  }

  ViewConfig config() {
    return config;
  }

  ViewCounters counters() {
    return counters;
  }

  PoolBoard board() {
    return board;
  }

  RelayRuntime runtime() {
    return runtime;
  }

  long maxFilterAgeNanos() {
    return maxFilterAgeNanos;
  }

  long maxReadinessAgeNanos() {
    return maxReadinessAgeNanos;
  }

  long maxLoadAgeNanos() {
    return maxLoadAgeNanos;
  }

  long maxCatalogAgeNanos() {
    return maxCatalogAgeNanos;
  }
}
