package io.kvrelay.engine.view;

import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One serial mailbox of an ingestion pool: it owns the ingestors of its lanes and carries out their
 * commands one after the other, on whatever thread the runtime's executor lends it. The queue is
 * bounded and shared by the worker's lanes; control commands may wait for a place in it.
 *
 * <p>An unexpected failure ends the worker, not the process and not its neighbours: its lanes
 * become unreadable first, then the worker counts as failed, then the fault is posted. Its lanes
 * recover on another worker with their next assignment.
 *
 * <pre>
 * field                           mode       guarded by
 * failed                          volatile   written under the monitor
 * ring, head, size, waiting       plain      the monitor
 * stopping                        plain      the monitor
 * scheduled                       plain      the monitor; whoever sets it owns the worker's turn
 * owned, underWay, installs,      plain      the owner of the turn
 * batch, promoted
 * </pre>
 */
final class IngestWorker implements Runnable {
  private static final System.Logger LOG = System.getLogger(IngestWorker.class.getName());
  private static final int COMMANDS_PER_TURN = 64;

  /** What a turn takes from a worker that is to end. */
  private static final IngestCommand STOP = new IngestCommand() {};

  /** What became of an offer. */
  enum Offer {
    QUEUED,
    WAITING,
    FULL,
    FAILED
  }

  /** A lane this worker writes. */
  private static final class OwnedLane {
    final LaneAdmission admission;
    final LaneIngestor ingestor;
    long observedEpoch;

    OwnedLane(LaneAdmission admission, LaneIngestor ingestor) {
      this.admission = admission;
      this.ingestor = ingestor;
    }
  }

  private final IngestionPool pool;
  private final int id;
  private final IngestProbe probe;
  private final @Nullable IngestCommand[] ring;
  private final ArrayDeque<ControlCommand> waiting = new ArrayDeque<>();
  private final @Nullable OwnedLane[] owned;
  private final List<IngestCommand> underWay = new ArrayList<>();
  private final List<ControlCommands.Install> installs = new ArrayList<>();
  private final SnapshotBatch batch;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private @Nullable ControlCommand promoted;
  private int head;
  private int size;
  private boolean scheduled;
  private boolean stopping;
  private volatile boolean failed;

  IngestWorker(IngestionPool pool, int id, int queueCapacity, int lanes, IngestProbe probe) {
    this.pool = pool;
    this.id = id;
    this.probe = probe;
    this.ring = new @Nullable IngestCommand[queueCapacity];
    this.owned = new @Nullable OwnedLane[lanes];
    this.batch = new SnapshotBatch(pool.index().table());
  }

  int id() {
    return id;
  }

  boolean isFailed() {
    return failed;
  }

  /** Queues a delta if there is room. Call {@link #wake} afterwards, without a lock held. */
  synchronized Offer offer(LaneDelta delta) {
    if (failed) {
      return Offer.FAILED;
    }
    return size == ring.length ? Offer.FULL : enqueue(delta);
  }

  /** Queues a control command, or has it wait for room. Call {@link #wake} afterwards. */
  synchronized Offer offer(ControlCommand command) {
    if (failed) {
      return Offer.FAILED;
    }
    if (size == ring.length) {
      waiting.add(command);
      return Offer.WAITING;
    }
    return enqueue(command);
  }

  /** Takes a command back that waits for room. False if it does not. */
  synchronized boolean withdraw(ControlCommand command) {
    return waiting.remove(command);
  }

  private Offer enqueue(IngestCommand command) {
    int tail = head + size;
    ring[tail < ring.length ? tail : tail - ring.length] = command;
    size++;
    return Offer.QUEUED;
  }

  private @Nullable IngestCommand take() {
    IngestCommand command;
    synchronized (this) {
      if (stopping) {
        return STOP;
      }
      if (size == 0) {
        scheduled = false;
        return null;
      }
      command = removeHead();
    }
    startPromoted();
    return command;
  }

  /**
   * The next command if it is a snapshot. It is for a lane that has none in the batch: a lane takes
   * a second one only with a new lease, and the command for that lies in between.
   */
  private ControlCommands.@Nullable Install takeInstall() {
    ControlCommands.Install install;
    synchronized (this) {
      if (stopping || size == 0 || !(ring[head] instanceof ControlCommands.Install next)) {
        return null;
      }
      install = next;
      removeHead();
    }
    startPromoted();
    return install;
  }

  /** With the monitor held. A command that waits gets the place. */
  private @Nullable IngestCommand removeHead() {
    IngestCommand command = ring[head];
    ring[head] = null;
    head = head + 1 == ring.length ? 0 : head + 1;
    size--;
    promoted = waiting.poll();
    if (promoted != null) {
      enqueue(promoted);
    }
    return command;
  }

  private void startPromoted() {
    ControlCommand queued = promoted;
    if (queued != null) {
      promoted = null;
      queued.queued();
    }
  }

  /** Lets the executor run the worker if there is something to do. */
  void wake() {
    synchronized (this) {
      if (scheduled || failed || size == 0) {
        return;
      }
      scheduled = true;
    }
    schedule();
  }

  private void schedule() {
    try {
      pool.executor().execute(this);
    } catch (RejectedExecutionException stopped) {
      fail(stopped);
    }
  }

  @Override
  public void run() {
    for (int i = 0; i < COMMANDS_PER_TURN; i++) {
      IngestCommand command = take();
      if (command == null) {
        return;
      }
      if (command == STOP) {
        fail(stopped());
        return;
      }
      underWay.add(command);
      try {
        execute(command);
      } catch (RuntimeException | Error e) {
        fail(e);
        return;
      }
      underWay.clear();
    }
    schedule(); // still the owner of the turn; another worker may go first
  }

  private void execute(IngestCommand command) {
    probe.beforeCommand(command);
    LaneAdmission lane = command.lane;
    if (lane == null) {
      throw new IllegalStateException("a command without a lane");
    }
    if (command instanceof ControlCommand control && control.ignoresEpoch()) {
      release(lane);
      control.carriedOut();
      return;
    }
    OwnedLane own = current(lane, command);
    if (own == null) {
      return;
    }
    if (command instanceof ControlCommands.Install install) {
      installWithNext(own, install);
      return;
    }
    if (command instanceof LaneDelta delta) {
      apply(own, delta);
    } else {
      ((ControlCommand) command).execute(own.ingestor, probe);
    }
    settle(own);
  }

  /** The lane as its owner holds it if the command is of its current generation; else null. */
  private @Nullable OwnedLane current(LaneAdmission lane, IngestCommand command) {
    OwnedLane own = owned[lane.lane()];
    if (own == null) {
      own = claim(lane, command);
      if (own == null) {
        return null;
      }
    }
    if (lane.isFenced()) {
      own.ingestor.retire();
      reject(command, LaneError.ADMISSION_EPOCH_EXHAUSTED);
      return null;
    }
    follow(own, lane);
    if (command.epoch != own.observedEpoch) {
      reject(command, LaneError.LANE_RETIRED);
      return null;
    }
    return own;
  }

  /** What was under way must not make a lane readable again that was fenced meanwhile. */
  private static void settle(OwnedLane own) {
    if (own.admission.isFenced()) {
      own.ingestor.retire();
    } else {
      follow(own, own.admission);
    }
  }

  /** Installs a snapshot together with those that wait right behind it for other lanes. */
  private void installWithNext(OwnedLane first, ControlCommands.Install head) {
    join(first, head);
    for (ControlCommands.Install next = takeInstall(); next != null; next = takeInstall()) {
      underWay.add(next);
      probe.beforeCommand(next);
      OwnedLane own = current(next.admission(), next);
      if (own != null) {
        join(own, next);
      }
    }
    batch.store();
    batch.clear();
    for (ControlCommands.Install install : installs) {
      OwnedLane own = Objects.requireNonNull(owned[install.admission().lane()]);
      install.complete(own.ingestor, probe);
      settle(own);
    }
    installs.clear();
  }

  private void join(OwnedLane own, ControlCommands.Install install) {
    if (install.join(batch, own.ingestor)) {
      installs.add(install);
    } else {
      settle(own);
    }
  }

  private static void follow(OwnedLane own, LaneAdmission lane) {
    long published = lane.publishedEpoch();
    if (own.observedEpoch != published) {
      own.ingestor.retire();
      own.observedEpoch = published;
    }
  }

  private @Nullable OwnedLane claim(LaneAdmission lane, IngestCommand command) {
    LaneIngestor ingestor;
    try {
      ingestor = pool.index().claimLane(lane.lane());
    } catch (LaneException refused) {
      reject(command, refused);
      return null;
    }
    synchronized (lane) {
      if (lane.hasAssignmentEpoch()) {
        ingestor.continueAfter(lane.lastAssignmentEpoch());
      }
    }
    OwnedLane own = new OwnedLane(lane, ingestor);
    owned[lane.lane()] = own;
    return own;
  }

  private void apply(OwnedLane own, LaneDelta delta) {
    LaneAdmission lane = own.admission;
    IngestResult result = own.ingestor.applyDelta(delta);
    probe.afterDelta(lane.lane());
    synchronized (lane) {
      lane.outstanding().release(delta.deltaId);
    }
    delta.lane = null;
    pool.counters().delta(result, delta.images());
    if (result == IngestResult.LANE_DEACTIVATED) {
      deactivated(own.ingestor, lane, delta);
    }
    delta.listener.onDelta(delta, result);
  }

  /** Retires the lane generation unless its lease may be retried, and posts the fault. */
  void deactivated(LaneIngestor ingestor, LaneAdmission lane, IngestCommand during) {
    LaneFault fault = ingestor.fault();
    FailurePoint disposition = ingestor.disposition();
    if (fault == null || disposition == null) {
      throw new IllegalStateException("lane = " + lane.lane() + ": deactivated without a fault");
    }
    IngestFault posted;
    synchronized (lane) {
      boolean current = lane.isAt(during.epoch);
      posted = IngestFault.deactivated(lane, current ? lane.lease() : null, fault, disposition);
      if (current && !disposition.laneKeepsLease()) {
        lane.retire();
      }
    }
    pool.counters().deactivatedLane();
    pool.post(posted, during.listener);
  }

  private void release(LaneAdmission lane) {
    OwnedLane own = owned[lane.lane()];
    if (own != null) {
      owned[lane.lane()] = null;
      letGo(own);
    }
  }

  private static void letGo(OwnedLane own) {
    synchronized (own.admission) {
      own.admission.rememberEpochOf(own.ingestor);
    }
    own.ingestor.close();
  }

  private void reject(IngestCommand command, LaneError error) {
    if (command instanceof ControlCommand) {
      reject(command, new LaneException(error, "lane = " + laneOf(command) + ": " + error));
    } else {
      drop((LaneDelta) command);
    }
  }

  private void reject(IngestCommand command, LaneException refused) {
    if (command instanceof ControlCommand control) {
      control.fail(refused);
    } else {
      drop((LaneDelta) command);
    }
  }

  private void drop(LaneDelta delta) {
    LaneAdmission lane = delta.lane;
    if (lane != null) {
      synchronized (lane) {
        lane.outstanding().release(delta.deltaId);
      }
      delta.lane = null;
    }
    pool.counters().droppedDelta();
  }

  private static int laneOf(IngestCommand command) {
    return command.lane == null ? -1 : command.lane.lane();
  }

  /** Ends the worker; the caller owns its turn. */
  private void fail(Throwable cause) {
    if (!pool.isShutDown()) {
      // A host that stopped its executor knows; every other cause is a defect.
      Level level = cause instanceof RejectedExecutionException ? Level.DEBUG : Level.ERROR;
      LOG.log(level, "ingestion worker " + id + " failed; its lanes take new leases", cause);
    }
    for (int lane = 0; lane < owned.length; lane++) {
      OwnedLane own = owned[lane];
      if (own != null) {
        owned[lane] = null;
        letGo(own);
      }
    }
    List<IngestCommand> left = new ArrayList<>(underWay);
    left.addAll(end());
    underWay.clear();
    installs.clear();
    batch.clear();
    if (!pool.isShutDown()) {
      pool.postWorkerFailure(this);
    }
    for (IngestCommand command : left) {
      if (command instanceof ControlCommand control) {
        control.failed(this);
      } else {
        drop((LaneDelta) command);
      }
    }
    ended.complete(null);
  }

  private synchronized List<IngestCommand> end() {
    failed = true;
    scheduled = false;
    List<IngestCommand> left = new ArrayList<>();
    for (; size > 0; size--) {
      IngestCommand command = ring[head];
      if (command != null) {
        left.add(command);
      }
      ring[head] = null;
      head = head + 1 == ring.length ? 0 : head + 1;
    }
    left.addAll(waiting);
    waiting.clear();
    return left;
  }

  /**
   * Ends the worker for good: at once if it is idle, else in its running turn.
   *
   * @return a stage that completes once it owns nothing any more
   */
  CompletionStage<Void> shutDown() {
    boolean idle;
    synchronized (this) {
      idle = !scheduled && !failed;
      stopping = true;
      scheduled = true;
    }
    if (idle) {
      fail(stopped());
    }
    return ended;
  }

  private static RejectedExecutionException stopped() {
    return new RejectedExecutionException("the ingestion pool was shut down");
  }
}
