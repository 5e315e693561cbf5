package io.kvrelay.engine.relay;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolFault;
import io.kvrelay.engine.pool.PoolFaults;
import io.kvrelay.engine.publication.PoolHandle;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One pool of a {@link KvDcRelay}: where the events of one serving endpoint's workers go.
 *
 * <p><b>Order.</b> Events of one member must come in its own order; {@code apply} calls of one
 * thread keep theirs. Events of different members are independent.
 *
 * <p><b>Back-pressure.</b> The mailbox is bounded: 256 commands that together name at most 65,536
 * blocks. An event that does not fit waits in line, nothing is dropped, and its stage stays open:
 * slow down until it completes.
 *
 * <p><b>Faults.</b> An event that contradicts the exact state (an unknown parent, an engine hash
 * that names another block already, a residency domain that is not understood) changes nothing. It
 * shows that the publisher and the pool have drifted apart, so the member's rank is emptied and
 * what that publisher sends is refused, counted, until another publisher id appears for the member
 * or {@link #resetRank} is called. If the pool finds its own state contradictory it fences itself:
 * {@link #fenced()} completes, the pool leaves the catalog, and the host may open it again. A
 * filter without room is no fault: the block is owned and counted as omitted.
 *
 * <p>Thread safe; nothing blocks.
 */
public final class KvPool implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(KvPool.class.getName());
  private static final long NO_PUBLISHER = 0;

  private final PoolHandle handle;
  private final PoolActor actor;
  private final Runnable onServing;
  private final Consumer<KvPool> onClose;
  private final LongAdder faults = new LongAdder();
  private final LongAdder rejectedEvents = new LongAdder();
  private final LongAdder rejectedSources = new LongAdder();
  private final LongAdder recoveredRanks = new LongAdder();

  // Guarded by this, and so is the order of admissions and resets: an event that was let in is in
  // the mailbox before the reset that follows its source's rejection.
  private final Map<Member, Long> rejected = new HashMap<>();

  private volatile ServingState serving = ServingState.UNKNOWN;

  KvPool(PoolHandle handle, PoolActor actor, Runnable onServing, Consumer<KvPool> onClose) {
    this.handle = handle;
    this.actor = actor;
    this.onServing = onServing;
    this.onClose = onClose;
    PoolFaults waiting = actor.faults();
    waiting.onSignal(() -> handleAll(waiting));
  }

  private void handleAll(PoolFaults waiting) {
    for (PoolFault fault = waiting.poll(); fault != null; fault = waiting.poll()) {
      handle(fault);
    }
  }

  private void handle(PoolFault fault) {
    faults.increment();
    // The first and each power of two: a fleet that drifts apart must not fill the disk.
    boolean loud = Long.bitCount(faults.sum()) == 1;
    LOG.log(loud ? Level.WARNING : Level.DEBUG, "{0} of pool {1}", fault, identity());
    switch (fault.action()) {
      case REJECT_SOURCE -> reject(fault);
      case RECOVER_RANK -> {
        recoveredRanks.increment();
        empty(fault.member());
      }
      case FENCE_PRODUCER ->
          handle.fence(fault.kind() + " at event " + Long.toUnsignedString(fault.eventId()));
    }
  }

  private synchronized void reject(PoolFault fault) {
    if (rejected.put(fault.member(), fault.publisherId()) == null) {
      rejectedSources.increment();
    }
    empty(fault.member());
  }

  /**
   * A rank that cannot be emptied would be routed to for ever: the next generation is without it.
   */
  private void empty(Member member) {
    actor
        .resetRank(member)
        .exceptionally(
            failure -> {
              if (!isRefusal(failure)) {
                handle.fence("rank " + member + " could not be emptied: " + failure.getMessage());
              }
              return null;
            });
  }

  /** Whether a command failed because the pool is ending. */
  private static boolean isRefusal(Throwable failure) {
    return failure instanceof RelayException known
        && known.reason() == RelayErrorReason.PUBLICATION_UNAVAILABLE;
  }

  /** The end of a pool is told by the pool itself. */
  private static void ignoreFailure(CompletionStage<Void> stage) {
    stage.exceptionally(failure -> null);
  }

  /**
   * The generation.
   *
   * @return its identity
   */
  public ProducerIdentity identity() {
    return handle.identity();
  }

  /**
   * The pool as the catalog shows it, or last showed it.
   *
   * @return the descriptor
   */
  public PoolDescriptor descriptor() {
    return handle.descriptor();
  }

  /**
   * Takes one event of a publisher that has no id.
   *
   * @param event the event; its arrays are not copied
   * @return a stage that completes once the event is admitted, not once it is applied; fails with a
   *     {@link RelayException} {@code PUBLICATION_UNAVAILABLE} once the pool has ended
   */
  public CompletionStage<Void> apply(KvEvent event) {
    return admit(event, NO_PUBLISHER);
  }

  /**
   * Takes the events of one publisher.
   *
   * @param batch the events, in order
   * @return a stage that completes once the last event is admitted; fails like {@link
   *     #apply(KvEvent)}
   */
  public CompletionStage<Void> apply(KvEventBatch batch) {
    CompletionStage<Void> last = CompletableFuture.completedStage(null);
    for (KvEvent event : batch.events()) {
      last = admit(event, batch.publisherId());
    }
    // Who comes later stands behind in the line, so the last one is admitted last.
    return last;
  }

  private synchronized CompletionStage<Void> admit(KvEvent event, long publisherId) {
    if (!rejected.isEmpty() && isRejected(event.member(), publisherId)) {
      rejectedEvents.increment();
      return CompletableFuture.completedStage(null);
    }
    return actor.admit(event, publisherId);
  }

  private boolean isRejected(Member member, long publisherId) {
    Long publisher = rejected.get(member);
    if (publisher == null) {
      return false;
    }
    if (publisher == publisherId) {
      return true;
    }
    rejected.remove(member);
    return false;
  }

  /**
   * Publishes what is pending at once.
   *
   * @return a future of the sequence that covers every event admitted before; wait for it with
   *     {@code KvGlobalView.awaitSequence} for an exact drain. Fails like {@link #apply(KvEvent)},
   *     also while a change could not be handed over and no new snapshot was taken since; with
   *     {@code RESOURCE_LIMIT} if there was no memory to publish, which is tried again
   */
  public CompletableFuture<Long> flush() {
    return actor.flush().toCompletableFuture();
  }

  /**
   * Removes everything that a rank holds, publishes that, and listens to its source again.
   *
   * @param member the rank
   * @return a stage that completes once it is done
   */
  public synchronized CompletionStage<Void> resetRank(Member member) {
    rejected.remove(member);
    return actor.resetRank(member);
  }

  /**
   * Removes everything that all ranks of a worker hold, and publishes that.
   *
   * @param workerId the worker
   * @return a stage that completes once it is done
   */
  public CompletionStage<Void> removeWorker(long workerId) {
    synchronized (this) {
      rejected.keySet().removeIf(member -> member.workerId() == workerId);
      return actor.removeWorker(workerId);
    }
  }

  /**
   * Replaces the names it serves.
   *
   * @param registrations at least one
   * @return false if the pool has ended
   * @throws RelayException with {@code INVALID_REQUEST} if they contradict each other; the old ones
   *     stay
   */
  public boolean updateRegistrations(List<ModelRegistration> registrations) {
    boolean active = handle.updateRegistrations(registrations);
    onServing.run();
    return active;
  }

  /**
   * Replaces the declared roles.
   *
   * @param roles at least one, distinct
   * @return false if the pool has ended
   * @throws RelayException with {@code INVALID_REQUEST} if they are empty or repeated; the old ones
   *     stay
   */
  public boolean updateRoles(List<WorkerRole> roles) {
    boolean active = handle.updateRoles(roles);
    onServing.run();
    return active;
  }

  /**
   * Replaces the pool's load.
   *
   * @param load the load of exactly this {@link #identity()}, or null while nothing is known
   * @return false if the pool has ended or the load is another generation's
   */
  public boolean updateLoad(@Nullable PoolLoad load) {
    return handle.updateLoad(load);
  }

  /**
   * Says whether the pool's workers serve. Published as readiness together with what is said of the
   * relay's other pools: a model is ready once every role that its pools declare is served. It is
   * unknown until this is called, and a router does not choose what is unknown unless it is told
   * to. Has no effect once the host gives the whole topology ({@link KvDcRelay#setTopology}).
   *
   * @param state what the host knows
   */
  public void setServing(ServingState state) {
    serving = state;
    onServing.run();
  }

  PoolActor actor() {
    return actor;
  }

  StatedReadiness.Statement statement() {
    return new StatedReadiness.Statement(descriptor(), serving);
  }

  /**
   * Completes with the reason once the pool has fenced itself, or was ended by its relay.
   *
   * @return a stage that never fails
   */
  public CompletionStage<String> fenced() {
    return handle.fenced();
  }

  /**
   * Copies the filter out of the exact side, as it stands after every event admitted before; the
   * view's lane is compared with it. For tests and diagnosis: the pool applies nothing meanwhile.
   *
   * @return a future of one word per bucket; fails like {@link #apply(KvEvent)}
   */
  public CompletableFuture<long[]> filterWords() {
    return actor.filterWords().toCompletableFuture();
  }

  /**
   * Gauges and counters.
   *
   * @return the numbers of this moment
   */
  public KvPoolStatistics statistics() {
    return new KvPoolStatistics(
        identity(),
        descriptor().servingEndpoint(),
        actor.statistics(),
        rejectedEvents.sum(),
        rejectedSources.sum(),
        recoveredRanks.sum(),
        null);
  }

  /**
   * Ends the pool: it leaves the catalog, what is admitted is applied, its streams end, and its
   * endpoint is free again. Idempotent; does not wait.
   */
  @Override
  public void close() {
    handle.remove();
    ignoreFailure(actor.shutdown());
    onClose.accept(this);
  }

  /** Publishes what is pending; completes, without failing, whatever becomes of it. */
  CompletableFuture<?> drain() {
    return flush().exceptionally(ended -> 0L);
  }
}
