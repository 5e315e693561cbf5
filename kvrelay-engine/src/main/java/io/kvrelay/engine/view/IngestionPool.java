package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.ckf.SplitMix64;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Feeds the lanes of one index. Each lane sticks to one serial worker; what waits is bounded in
 * commands per worker, images per lane and age; a lane that exceeds a bound, or is given something
 * that does not fit, is retired alone and recovers with a new lease and a snapshot.
 *
 * <p>Thread safe. Nothing blocks: operations that need the worker's answer return stages, completed
 * on a thread of the runtime. {@link #submitDelta} returns at once and allocates nothing.
 *
 * <p>Lanes are bound to pools and released while the index is in use. Assignment epochs go on over
 * that, so a lane's lease is never given out twice; {@link #nextLease} gives the next one.
 */
final class IngestionPool {
  private static final long MIN_WATCH_NANOS = 100_000;
  private static final long MAX_WATCH_NANOS = 10_000_000;

  private final LaneIndex index;
  private final IngestionConfig config;
  private final RelayRuntime runtime;
  private final IngestProbe probe;
  private final AtomicReferenceArray<IngestWorker> workers;
  private final AtomicReferenceArray<@Nullable LaneAdmission> lanes;
  private final FaultChannel faultChannel;
  private final IngestionCounters counters;
  private final long maxOutstandingImages;
  private final long maxAgeNanos;
  private final long watchNanos;
  private final AtomicBoolean watching = new AtomicBoolean();
  private volatile boolean shutDown;

  /**
   * Creates a pool without lanes.
   *
   * @param view told of what is refused, dropped or ignored
   */
  IngestionPool(LaneIndex index, IngestionConfig config, RelayRuntime runtime, ViewCounters view) {
    this(index, config, runtime, view, IngestProbe.NONE);
  }

  /** For tests. */
  IngestionPool(LaneIndex index, IngestionConfig config, RelayRuntime runtime, IngestProbe probe) {
    this(index, config, runtime, new ViewCounters(), probe);
  }

  private IngestionPool(
      LaneIndex index,
      IngestionConfig config,
      RelayRuntime runtime,
      ViewCounters view,
      IngestProbe probe) {
    this.counters = new IngestionCounters(view);
    Manifest manifest = index.manifest();
    int capacity = manifest.capacity();
    this.index = index;
    this.config = config;
    this.runtime = runtime;
    this.probe = probe;
    this.workers = new AtomicReferenceArray<>(config.workers());
    for (int i = 0; i < workers.length(); i++) {
      workers.set(i, newWorker(i, capacity));
    }
    this.lanes = new AtomicReferenceArray<>(capacity);
    for (int lane = 0; lane < capacity; lane++) {
      if (manifest.isConfigured(lane)) {
        lanes.set(lane, newAdmission(lane));
      }
    }
    this.faultChannel = new FaultChannel(2 * capacity + workers.length());
    this.maxOutstandingImages =
        config.maxOutstandingImages() == 0
            ? manifest.format().bucketCount()
            : config.maxOutstandingImages();
    this.maxAgeNanos = config.maxDirtyToAppliedAge().toNanos();
    this.watchNanos = Math.min(MAX_WATCH_NANOS, Math.max(MIN_WATCH_NANOS, maxAgeNanos / 4));
  }

  private IngestWorker newWorker(int id, int lanes) {
    return new IngestWorker(this, id, config.queueCapacity(), lanes, probe);
  }

  private LaneAdmission newAdmission(int lane) {
    return new LaneAdmission(index, lane, workers.get(workerForLane(lane)), config.queueCapacity());
  }

  LaneIndex index() {
    return index;
  }

  IngestionConfig config() {
    return config;
  }

  IngestionCounters counters() {
    return counters;
  }

  Executor executor() {
    return runtime.executor();
  }

  boolean isShutDown() {
    return shutDown;
  }

  /**
   * The worker a lane sticks to while that worker lives: a hash of consumer and lane, so that
   * several consumers in one process do not all load the same one.
   */
  int workerForLane(int lane) {
    long mixed = SplitMix64.mix(index.manifest().consumerInstance() ^ (lane * SplitMix64.GAMMA));
    return (int) Long.remainderUnsigned(mixed, workers.length());
  }

  /** The lowest worker that failed and was not replaced, or -1. */
  int failedWorker() {
    for (int i = 0; i < workers.length(); i++) {
      if (workers.get(i).isFailed()) {
        return i;
      }
    }
    return -1;
  }

  /** The oldest unread fault, or null. */
  @Nullable IngestFault pollFault() {
    return faultChannel.poll();
  }

  /** Faults dropped because nobody read the channel. */
  long droppedFaults() {
    return faultChannel.dropped();
  }

  /**
   * Gives a pool a lane.
   *
   * @return the lane; it needs a lease and a snapshot
   * @throws LaneException if the pool does not belong to this index, has a lane, or none is free
   * @throws OutOfMemoryError if there is no memory for the lane's bookkeeping; it stays free
   */
  int bindLane(PoolId pool) {
    int lane = index.bindLane(pool);
    if (lanes.get(lane) == null) {
      try {
        lanes.set(lane, newAdmission(lane));
      } catch (RuntimeException | Error e) {
        index.releaseLane(lane);
        throw e;
      }
    }
    return lane;
  }

  /**
   * Takes a pool's lane away: unreadable at once, free for another pool once the worker has let go.
   *
   * @return a stage that completes then; fails with a {@link LaneException} if the lane has no pool
   */
  CompletionStage<Void> releaseLane(int lane) {
    LaneAdmission admission = configured(lane);
    if (admission == null) {
      return CompletableFuture.failedFuture(unconfigured(lane));
    }
    return new ControlCommands.Release(this, admission).start().thenApply(released -> null);
  }

  /**
   * A lease for the lane's next assignment: above all before it, and given out once.
   *
   * @throws LaneException if the lane has no pool
   */
  LaneLease nextLease(int lane) {
    LaneAdmission admission = configured(lane);
    if (admission == null) {
      throw unconfigured(lane);
    }
    long epoch;
    synchronized (admission) {
      epoch = admission.hasAssignmentEpoch() ? admission.lastAssignmentEpoch() + 1 : 1;
      epoch = admission.reserveAssignmentEpoch(epoch);
    }
    return new LaneLease(index.manifest().consumerInstance(), lane, epoch);
  }

  /**
   * Starts a lane generation. The lane is unreadable from now on and needs a snapshot. A lane whose
   * worker failed moves to the next one that lives.
   *
   * @return completes once the worker took the lease; fails with a {@link LaneException}. After a
   *     failure retry with a fresh lease: the old one may have been taken
   */
  CompletionStage<Void> assign(ProducerIdentity identity, LaneLease lease, LaneListener listener) {
    LaneAdmission admission = configured(lease.physicalLane());
    if (admission == null) {
      return CompletableFuture.failedFuture(unconfigured(lease.physicalLane()));
    }
    return new ControlCommands.Assign(this, admission, identity, lease, listener)
        .start()
        .thenApply(assigned -> null);
  }

  /**
   * Ends a lane generation whose stream has failed: unreadable at once, and what is queued is
   * dropped. A lease that is not current is left alone.
   */
  void retire(LaneLease lease) {
    LaneAdmission admission = configured(lease.physicalLane());
    if (admission == null) {
      return;
    }
    synchronized (admission) {
      if (admission.holds(lease)) {
        admission.retire();
      }
    }
  }

  /**
   * Installs a full image.
   *
   * @param words one word for each bucket; the pool's until the stage completes
   * @return what the lane did; fails with a {@link LaneException}
   */
  CompletionStage<IngestOutcome> installSnapshot(
      ProducerIdentity identity, LaneLease lease, long sequence, long[] words) {
    LaneAdmission admission = configured(lease.physicalLane());
    if (admission == null) {
      return CompletableFuture.failedFuture(unconfigured(lease.physicalLane()));
    }
    return new ControlCommands.Install(this, admission, identity, lease, sequence, words).start();
  }

  /**
   * Asks a lane to prove, behind all deltas submitted before, that it has installed exactly a
   * sequence.
   *
   * @return what the lane did; fails with a {@link LaneException}
   */
  CompletionStage<IngestOutcome> completeDrain(LaneLease lease, long expectedSequence) {
    LaneAdmission admission = configured(lease.physicalLane());
    if (admission == null) {
      return CompletableFuture.failedFuture(unconfigured(lease.physicalLane()));
    }
    return new ControlCommands.Drain(this, admission, lease, expectedSequence).start();
  }

  /**
   * Submits a delta. Never waits for its application; what became of it goes to the lane's
   * listener.
   *
   * @param delta the pool's until it was applied or dropped
   */
  Admission submitDelta(LaneDelta delta) {
    Admission admission = admit(delta);
    if (admission != Admission.ADMITTED) {
      counters.refusedDelta();
    }
    return admission;
  }

  private Admission admit(LaneDelta delta) {
    LaneAdmission lane = configured(delta.lease().physicalLane());
    if (lane == null) {
      return Admission.UNCONFIGURED_LANE;
    }
    IngestWorker worker;
    Admission admission;
    IngestFault fault = null;
    LaneListener listener;
    synchronized (lane) {
      worker = lane.worker();
      listener = lane.listener();
      admission = worker.isFailed() ? Admission.WORKER_FAILED : refusalByState(lane, delta);
      if (admission == Admission.ADMITTED) {
        LaneLease lease = lane.lease();
        long requested = lane.outstanding().images() + delta.images();
        admission = admitWithinBounds(lane, worker, delta, requested);
        fault = faultOf(admission, lane, lease, requested);
      }
    }
    if (fault != null) {
      post(fault, listener);
    } else if (admission == Admission.ADMITTED) {
      worker.wake();
      watch();
    }
    return admission;
  }

  private static Admission refusalByState(LaneAdmission lane, LaneDelta delta) {
    return switch (lane.state()) {
      case UNASSIGNED -> Admission.LANE_UNASSIGNED;
      case TRANSITIONING, RETIRED -> Admission.LANE_RETIRED;
      case AWAITING_SNAPSHOT -> Admission.AWAITING_SNAPSHOT;
      case ACTIVE -> lane.holds(delta.lease()) ? Admission.ADMITTED : Admission.LANE_RETIRED;
    };
  }

  private Admission admitWithinBounds(
      LaneAdmission lane, IngestWorker worker, LaneDelta delta, long requested) {
    long now = runtime.nanoTime();
    OutstandingDeltas outstanding = lane.outstanding();
    if (isOverAge(outstanding, now)) {
      lane.retire();
      return Admission.DIRTY_TO_APPLIED_AGE_EXCEEDED;
    }
    if (requested > maxOutstandingImages) {
      lane.retire();
      return Admission.OUTSTANDING_IMAGE_LIMIT;
    }
    if (!lane.numberDelta(delta)) {
      return Admission.ADMISSION_EPOCH_EXHAUSTED;
    }
    outstanding.add(delta.deltaId, delta.images(), now);
    IngestWorker.Offer offer = worker.offer(delta);
    if (offer == IngestWorker.Offer.QUEUED) {
      return Admission.ADMITTED;
    }
    outstanding.release(delta.deltaId);
    delta.lane = null;
    if (offer == IngestWorker.Offer.FULL) {
      lane.retire();
      return Admission.SATURATED;
    }
    return Admission.WORKER_FAILED;
  }

  private boolean isOverAge(OutstandingDeltas outstanding, long now) {
    return !outstanding.isEmpty() && now - outstanding.oldestAdmittedAtNanos() >= maxAgeNanos;
  }

  private @Nullable IngestFault faultOf(
      Admission admission, LaneAdmission lane, @Nullable LaneLease lease, long requested) {
    return switch (admission) {
      case DIRTY_TO_APPLIED_AGE_EXCEEDED ->
          IngestFault.refused(IngestFault.Kind.DIRTY_TO_APPLIED_AGE_EXCEEDED, lane, lease, 0, 0);
      case OUTSTANDING_IMAGE_LIMIT ->
          IngestFault.refused(
              IngestFault.Kind.OUTSTANDING_IMAGE_LIMIT,
              lane,
              lease,
              requested,
              maxOutstandingImages);
      case SATURATED -> IngestFault.refused(IngestFault.Kind.SATURATED, lane, lease, 0, 0);
      default -> null;
    };
  }

  // The watchdog: it runs while any delta waits, so an idle pool costs nothing.

  private void watch() {
    if (!watching.get() && watching.compareAndSet(false, true)) {
      runtime.schedule(watchNanos, this::checkAges);
    }
  }

  private void checkAges() {
    boolean waiting = retireOverAge();
    if (waiting && !shutDown) {
      runtime.schedule(watchNanos, this::checkAges);
      return;
    }
    watching.set(false);
    if (anyOutstanding() && !shutDown) {
      watch(); // a delta came between the look and the flag
    }
  }

  private boolean retireOverAge() {
    boolean waiting = false;
    long now = runtime.nanoTime();
    for (int i = 0; i < lanes.length(); i++) {
      LaneAdmission lane = lanes.get(i);
      if (lane == null) {
        continue;
      }
      IngestFault fault = null;
      LaneListener listener;
      synchronized (lane) {
        listener = lane.listener();
        waiting |= !lane.outstanding().isEmpty();
        if (lane.state() == LaneAdmission.State.ACTIVE && isOverAge(lane.outstanding(), now)) {
          fault = faultOf(Admission.DIRTY_TO_APPLIED_AGE_EXCEEDED, lane, lane.lease(), 0);
          lane.retire();
        }
      }
      if (fault != null) {
        post(fault, listener);
      }
    }
    return waiting;
  }

  private boolean anyOutstanding() {
    for (int i = 0; i < lanes.length(); i++) {
      LaneAdmission lane = lanes.get(i);
      if (lane != null) {
        synchronized (lane) {
          if (!lane.outstanding().isEmpty()) {
            return true;
          }
        }
      }
    }
    return false;
  }

  // For commands and workers.

  RelayRuntime.Timer afterControlTimeout(Runnable task) {
    return runtime.schedule(config.controlTimeout().toNanos(), task);
  }

  /**
   * A worker that lives, the lane's own if possible. If all have failed, the lane's own is
   * replaced: a failed one has let go of everything. Null once the pool was shut down.
   */
  @Nullable IngestWorker livingWorker(int lane) {
    int first = workerForLane(lane);
    for (int i = 0; i < workers.length(); i++) {
      IngestWorker worker = workers.get((first + i) % workers.length());
      if (!worker.isFailed()) {
        return worker;
      }
    }
    return replace(first);
  }

  private synchronized @Nullable IngestWorker replace(int failed) {
    if (shutDown) {
      return null;
    }
    IngestWorker present = workers.get(failed);
    if (!present.isFailed()) {
      return present; // another lane was first
    }
    IngestWorker fresh = newWorker(failed, lanes.length());
    workers.set(failed, fresh);
    return fresh;
  }

  /** Reports a fault to whoever had the lane when it happened. */
  void post(IngestFault fault, LaneListener listener) {
    counters.fault();
    faultChannel.offer(fault);
    listener.onFault(fault);
  }

  void postWorkerFailure(IngestWorker worker) {
    IngestFault fault = IngestFault.workerFailed(worker.id());
    counters.fault();
    faultChannel.offer(fault);
    List<LaneListener> listeners = new ArrayList<>();
    for (int i = 0; i < lanes.length(); i++) {
      LaneAdmission lane = lanes.get(i);
      if (lane != null) {
        synchronized (lane) {
          if (lane.worker() == worker && lane.lease() != null) {
            listeners.add(lane.listener());
          }
        }
      }
    }
    listeners.forEach(listener -> listener.onFault(fault));
  }

  private @Nullable LaneAdmission configured(int lane) {
    return index.manifest().isConfigured(lane) ? lanes.get(lane) : null;
  }

  private static LaneException unconfigured(int lane) {
    return new LaneException(LaneError.UNCONFIGURED_LANE, "lane = " + lane + ": has no pool");
  }

  /** A lane's admission record, for tests. */
  LaneAdmission admission(int lane) {
    LaneAdmission admission = configured(lane);
    if (admission == null) {
      throw unconfigured(lane);
    }
    return admission;
  }

  /**
   * Retires every lane, then ends the workers; what waits is refused. Idempotent.
   *
   * @return a stage that completes once no worker owns anything any more
   */
  CompletionStage<Void> shutDown() {
    synchronized (this) {
      shutDown = true; // no worker is replaced from here on
    }
    for (int i = 0; i < lanes.length(); i++) {
      LaneAdmission lane = lanes.get(i);
      if (lane != null) {
        synchronized (lane) {
          lane.retire();
        }
      }
    }
    CompletableFuture<?>[] ended = new CompletableFuture<?>[workers.length()];
    for (int i = 0; i < ended.length; i++) {
      ended[i] = workers.get(i).shutDown().toCompletableFuture();
    }
    return CompletableFuture.allOf(ended);
  }
}
