package io.kvrelay.engine.ingest;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolFault;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Feeds one generation of a pool with the events of its endpoint's ranks: in order, with what was
 * missed recovered, and without what cannot be trusted. See {@code docs/ingest.md}.
 *
 * <p>Each rank is worked on by itself on the runtime's executor; one that waits delays no other.
 * Thread safe; nothing blocks. A batch costs one small object on its way in, and nothing per block.
 */
public final class PoolIngest {
  private static final System.Logger LOG = System.getLogger(PoolIngest.class.getName());

  /** Publishers whose trust is remembered, should they get a source here. */
  private static final int MAX_REMEMBERED_TRUST = 65_536;

  private final IngestContext context;
  private final SerialExecutor control;
  private final ConcurrentSkipListMap<Member, RankSlot> slots = new ConcurrentSkipListMap<>();
  private final CompletableFuture<Void> stopped = new CompletableFuture<>();
  private final RetryDelay followDelay = RetryDelay.local();

  private volatile EndpointSources view;
  private volatile boolean stopping;
  private volatile @Nullable String subscriptionProblem;

  // Belong to the control mailbox; a listener compares itself with `subscription`.
  private volatile @Nullable Subscription subscription;
  private final List<CompletableFuture<Void>> ending = new ArrayList<>();
  private RelayRuntime.@Nullable Timer refollow;
  private boolean stopAsked;

  // Guarded by itself.
  private final Map<Long, TrustReport> trust = new LinkedHashMap<>();

  private PoolIngest(
      EndpointSources sources,
      PoolPort pool,
      KvEventSource events,
      RecoveryPermits permits,
      IngestConfig config,
      RelayRuntime runtime,
      IngestListener listener) {
    this.view = sources;
    this.control = new SerialExecutor(runtime.executor());
    IngestCounters counters = new IngestCounters();
    List<Member> firstWave =
        sources.ranks().entrySet().stream()
            .filter(rank -> rank.getValue().status() == SourceStatus.ACTIVE_RECOVERABLE)
            .map(Map.Entry::getKey)
            .toList();
    ReplacementBatcher batcher =
        new ReplacementBatcher(pool, runtime, config.recoveryAttemptTimeout(), counters, firstWave);
    this.context =
        new IngestContext(
            pool,
            events,
            permits,
            config,
            runtime,
            listener,
            batcher,
            new PublisherBindings(),
            counters,
            new Ranks());
  }

  /**
   * Starts to read.
   *
   * @param sources the sources of all expected ranks
   * @param pool where events go; nobody else feeds it
   * @param events where they come from
   * @param permits the relay's bound on concurrent history requests
   * @param config timeouts and bounds
   * @param runtime clock, executor, timer and randomness
   * @param listener hears when the pool's state is in doubt
   * @return the running ingest; stop it
   */
  public static PoolIngest start(
      EndpointSources sources,
      PoolActor pool,
      KvEventSource events,
      RecoveryPermits permits,
      IngestConfig config,
      RelayRuntime runtime,
      IngestListener listener) {
    return start(sources, PoolPort.of(pool), events, permits, config, runtime, listener);
  }

  static PoolIngest start(
      EndpointSources sources,
      PoolPort pool,
      KvEventSource events,
      RecoveryPermits permits,
      IngestConfig config,
      RelayRuntime runtime,
      IngestListener listener) {
    PoolIngest ingest = new PoolIngest(sources, pool, events, permits, config, runtime, listener);
    ingest.reconcile(sources);
    return ingest;
  }

  /**
   * Takes the latest sources over. Views are given in order; a rank that is late with one goes
   * straight to the latest. Ignored once stopped.
   *
   * @param sources the sources of all expected ranks
   */
  public void reconcile(EndpointSources sources) {
    view = sources;
    control.execute(this::follow);
  }

  /**
   * Handles a fault of the pool; the caller hands over one at a time.
   *
   * @param fault the fault
   * @return a stage with what has to follow
   */
  public CompletionStage<FaultOutcome> handle(PoolFault fault) {
    if (fault.action() == PoolFault.Action.FENCE_PRODUCER) {
      context.count(IngestCount.POOL_FENCES);
      return CompletableFuture.completedFuture(FaultOutcome.FENCE_POOL);
    }
    RankSlot slot = slots.get(fault.member());
    if (slot == null) {
      context.count(IngestCount.STALE_FAULTS);
      return CompletableFuture.completedFuture(FaultOutcome.HANDLED);
    }
    return slot.handle(fault);
  }

  /**
   * Clears one rank by hand, and takes its source up again from the beginning.
   *
   * @param member the rank
   * @return a stage that completes once the pool holds nothing of it any more; fails if it could
   *     not be cleared, or with {@code INVALID_REQUEST} if the rank is not expected
   */
  public CompletionStage<Void> clearRank(Member member) {
    RankSlot slot = slots.get(member);
    return slot == null ? CompletableFuture.failedStage(notExpected(member)) : slot.clear();
  }

  static RelayException notExpected(Member member) {
    return new RelayException(
        RelayErrorReason.INVALID_REQUEST, "member = " + member + ": is not expected");
  }

  /**
   * Ends: stops all recoveries and joins them, resets every rank, lets go of the event source.
   * Idempotent.
   *
   * @return a stage that completes once nothing of it runs any more; never fails
   */
  public CompletionStage<Void> stop() {
    stopping = true;
    control.execute(this::stopAll);
    return stopped.minimalCompletionStage();
  }

  /**
   * Where each rank stands.
   *
   * @return in member order; those that could not be reset yet though they are no longer expected
   *     included
   */
  public List<RankStatus> ranks() {
    return slots.values().stream().map(RankSlot::status).toList();
  }

  /**
   * What it has done.
   *
   * @return a copy
   */
  public IngestStatistics statistics() {
    return context.counters().read();
  }

  // ---- Control ----

  private void follow() {
    if (stopping) {
      return;
    }
    EndpointSources latest = view;
    subscribe(latest);
    for (Member member : latest.ranks().keySet()) {
      slots.computeIfAbsent(member, rank -> new RankSlot(rank, context));
    }
    for (RankSlot slot : slots.values()) {
      RankSource source = latest.ranks().get(slot.member());
      slot.suppressed(source != null && source.status() == SourceStatus.SUPPRESSED);
      slot.reconcile();
    }
  }

  /** Before any source is bound, so that nothing is missed between its dump and its stream. */
  private void subscribe(EndpointSources latest) {
    EndpointId endpoint = latest.kvStateEndpoint();
    Subscription current = subscription;
    if (current != null && current.endpoint.equals(endpoint)) {
      return;
    }
    unsubscribe();
    if (endpoint != null) {
      open(endpoint);
    }
  }

  private void open(EndpointId endpoint) {
    subscriptionProblem = null;
    synchronized (trust) {
      trust.clear(); // a subscription's word ends with it
    }
    Subscription next = new Subscription(endpoint);
    subscription = next;
    try {
      next.following =
          Objects.requireNonNull(
              context.events().follow(endpoint, next), "the provider returned no subscription");
    } catch (RuntimeException | Error e) {
      ended(next, e);
    }
  }

  private void unsubscribe() {
    Subscription current = subscription;
    subscription = null;
    if (refollow != null) {
      refollow.cancel();
      refollow = null;
    }
    KvEventSource.Following following = current == null ? null : current.following;
    if (following != null) {
      ending.removeIf(CompletableFuture::isDone);
      ending.add(stop(following));
    }
  }

  private static CompletableFuture<Void> stop(KvEventSource.Following following) {
    try {
      return ProviderStages.future(ProviderStages.given(following.stop()));
    } catch (RuntimeException | Error e) {
      LOG.log(Level.WARNING, "an event source did not let go", e);
      return CompletableFuture.completedFuture(null);
    }
  }

  private void ended(Subscription which, Throwable error) {
    if (subscription != which || stopping || refollow != null) {
      return;
    }
    context.count(IngestCount.ENDED_SUBSCRIPTIONS);
    if (which.delivered) {
      followDelay.reset();
    }
    String reason = "the subscription to live events ended: " + Failures.text(error);
    LOG.log(Level.WARNING, () -> "endpoint " + which.endpoint + ": " + reason);
    subscriptionProblem = reason;
    slots.values().forEach(slot -> slot.subscription(reason));
    refollow =
        context
            .runtime()
            .schedule(
                followDelay.takeNanos(), () -> control.execute(() -> followAgain(which.endpoint)));
  }

  private void followAgain(EndpointId endpoint) {
    Subscription current = subscription;
    if (stopping || current == null || !current.endpoint.equals(endpoint)) {
      return;
    }
    unsubscribe();
    open(endpoint);
    if (subscriptionProblem == null) {
      slots.values().forEach(slot -> slot.subscription(null));
    }
  }

  private void stopAll() {
    if (stopAsked) {
      return;
    }
    stopAsked = true;
    unsubscribe();
    context.batcher().stop();
    CompletableFuture<?>[] stages =
        Stream.concat(slots.values().stream().map(RankSlot::stop), ending.stream())
            .map(CompletionStage::toCompletableFuture)
            .toArray(CompletableFuture[]::new);
    CompletionStage<Void> all = CompletableFuture.allOf(stages);
    all.whenComplete((done, error) -> stopped.complete(null));
  }

  /** What the ranks ask. */
  private final class Ranks implements IngestContext.Directory {
    @Override
    public @Nullable RankSource sourceOf(Member member) {
      return view.ranks().get(member);
    }

    @Override
    public TrustReport trustOf(long publisherId) {
      synchronized (trust) {
        return trust.getOrDefault(publisherId, TrustReport.EXACT);
      }
    }

    @Override
    public @Nullable String subscriptionProblem() {
      return subscriptionProblem;
    }

    @Override
    public void forget(RankSlot slot) {
      control.execute(
          () -> {
            boolean expected = !stopping && view.ranks().containsKey(slot.member());
            if (!expected && slot.dismiss()) {
              slots.remove(slot.member(), slot);
            } else {
              slot.reconcile(); // expected again, or at work again since it asked
            }
          });
    }
  }

  /** One subscription's listener. */
  private final class Subscription implements KvEventListener {
    private final EndpointId endpoint;
    private volatile KvEventSource.@Nullable Following following;
    private volatile boolean delivered;

    private Subscription(EndpointId endpoint) {
      this.endpoint = endpoint;
    }

    /** The binding of a publisher under this endpoint, or null after counting. */
    private @Nullable Binding bindingOf(long publisherId, IngestCount unbound) {
      if (subscription != this) {
        context.count(IngestCount.STALE_SUBSCRIPTION_CALLS);
        return null;
      }
      Binding binding = context.bindings().find(publisherId);
      if (binding == null || !binding.source.kvStateEndpoint().equals(endpoint)) {
        context.count(unbound);
        return null;
      }
      return binding;
    }

    @Override
    public void onBatch(KvEventBatch batch) {
      if (!delivered) {
        delivered = true;
      }
      Binding binding = bindingOf(batch.publisherId(), IngestCount.UNBOUND_BATCHES);
      if (binding != null) {
        binding.slot.deliver(binding, batch);
      }
    }

    @Override
    public void onDiscontinuity(long publisherId, String reason) {
      Binding binding = bindingOf(publisherId, IngestCount.STALE_DISCONTINUITIES);
      if (binding != null) {
        binding.slot.broke(binding, reason);
      }
    }

    @Override
    public void onTrust(long publisherId, SourceTrust level, String reason) {
      if (subscription != this) {
        context.count(IngestCount.STALE_SUBSCRIPTION_CALLS);
        return;
      }
      TrustReport report = new TrustReport(level, reason);
      remember(publisherId, report);
      Binding binding = context.bindings().find(publisherId);
      if (binding != null && binding.source.kvStateEndpoint().equals(endpoint)) {
        binding.slot.trust(binding, report);
      }
    }

    private void remember(long publisherId, TrustReport report) {
      synchronized (trust) {
        trust.remove(publisherId);
        if (report.level() != SourceTrust.EXACT) {
          trust.put(publisherId, report);
        }
        if (trust.size() > MAX_REMEMBERED_TRUST) {
          context.count(IngestCount.FORGOTTEN_TRUST);
          trust.remove(trust.keySet().iterator().next());
        }
      }
    }

    @Override
    public void onFailure(RelayException error) {
      Objects.requireNonNull(error);
      control.execute(() -> ended(this, error));
    }
  }
}
