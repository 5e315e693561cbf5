package io.kvrelay.engine.view;

import io.kvrelay.api.PoolId;
import io.kvrelay.engine.ckf.CkfAddressing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Supplier;

/**
 * One indexer domain's lanes: the table, which pool each lane stands for, which lanes may be read
 * and which have an ingestion owner. Thread safe; queries take no lock.
 *
 * <p>A query reads one reference, and with it manifest and ready mask as they stood together: a
 * lane that is given to another pool can never answer under that pool's name with a mask from
 * before. Readiness changes once per snapshot or fault, so a new pair of them costs nothing.
 *
 * <pre>
 * field     mode              guarded by
 * current   acquire, CAS      lanes are bound and released under the monitor; ready bits by CAS.
 *                             Publishing a lane releases its snapshot's words to queries
 * claimed   acquire-release   bit operations
 * </pre>
 */
final class LaneIndex {
  private static final VarHandle CURRENT;
  private static final VarHandle CLAIMED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      CURRENT = lookup.findVarHandle(LaneIndex.class, "current", Capture.class);
      CLAIMED = lookup.findVarHandle(LaneIndex.class, "claimed", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * What one query sees.
   *
   * @param manifest the lanes
   * @param readyLanes bit i: lane i holds a whole snapshot
   */
  record Capture(Manifest manifest, long readyLanes) {}

  private final TransposedTable table;
  private final CkfAddressing addressing;

  @SuppressWarnings("UnusedVariable") // by handle
  private Capture current;

  @SuppressWarnings("UnusedVariable") // by handle
  private long claimed;

  LaneIndex(Manifest manifest) {
    this.table = new TransposedTable(manifest.format().bucketCount(), manifest.capacity());
    this.addressing = new CkfAddressing(manifest.format());
    this.current = new Capture(manifest, 0);
  }

  TransposedTable table() {
    return table;
  }

  CkfAddressing addressing() {
    return addressing;
  }

  /** Manifest and ready mask, read once. */
  Capture capture() {
    return (Capture) CURRENT.getAcquire(this);
  }

  Manifest manifest() {
    return capture().manifest();
  }

  long readyLanes() {
    return capture().readyLanes();
  }

  boolean isReady(int lane) {
    return (readyLanes() >>> lane & 1) != 0;
  }

  /** Lets queries read a lane, with every word stored before. Only its owner calls this. */
  void publish(int lane) {
    Capture seen = capture();
    while (!CURRENT.compareAndSet(
        this, seen, new Capture(seen.manifest(), seen.readyLanes() | 1L << lane))) {
      seen = capture();
    }
  }

  /** Keeps queries that start from now on away from a lane. Anyone may call this. */
  void withdraw(int lane) {
    Capture seen = capture();
    while ((seen.readyLanes() >>> lane & 1) != 0
        && !CURRENT.compareAndSet(
            this, seen, new Capture(seen.manifest(), seen.readyLanes() & ~(1L << lane)))) {
      seen = capture();
    }
  }

  /**
   * Gives a pool the lowest free lane.
   *
   * @return the lane, not ready
   * @throws LaneException if the pool does not belong here or every lane is taken
   */
  synchronized int bindLane(PoolId pool) {
    Manifest manifest = manifest();
    long free = ~(manifest.configuredLanes() | (long) CLAIMED.getAcquire(this));
    int lane = Long.numberOfTrailingZeros(free);
    if (lane >= manifest.capacity()) {
      throw new LaneException(
          LaneError.LANES_EXHAUSTED,
          "pool = " + pool + ": all " + manifest.capacity() + " lanes are taken");
    }
    replaceManifest(manifest.withLane(lane, pool));
    return lane;
  }

  /**
   * Frees a lane whose owner has let go of it. Its words stay as they are; the next pool's snapshot
   * overwrites every one of them before the lane is ready again.
   *
   * @throws LaneException if the lane has no pool or still has an owner
   */
  synchronized void releaseLane(int lane) {
    Manifest manifest = manifest();
    checkConfigured(manifest, lane);
    if (((long) CLAIMED.getAcquire(this) >>> lane & 1) != 0) {
      throw new LaneException(
          LaneError.LANE_ALREADY_CLAIMED, "lane = " + lane + ": has an ingestion owner");
    }
    withdraw(lane);
    replaceManifest(manifest.withoutLane(lane));
  }

  private void replaceManifest(Manifest manifest) {
    Capture seen = capture();
    while (!CURRENT.compareAndSet(this, seen, new Capture(manifest, seen.readyLanes()))) {
      seen = capture();
    }
  }

  /**
   * Makes the caller the one ingestion owner of a lane.
   *
   * @return the ingestor; closing it lets go of the lane
   * @throws LaneException if the lane has no pool or has an owner, or there is no memory
   */
  LaneIngestor claimLane(int lane) {
    return claimLane(lane, () -> new LaneIngestor(this, lane));
  }

  /** The same, with the allocation that may fail to be chosen. */
  synchronized LaneIngestor claimLane(int lane, Supplier<LaneIngestor> allocation) {
    checkConfigured(manifest(), lane);
    long bit = 1L << lane;
    if (((long) CLAIMED.getAndBitwiseOr(this, bit) & bit) != 0) {
      throw new LaneException(
          LaneError.LANE_ALREADY_CLAIMED, "lane = " + lane + ": has an ingestion owner");
    }
    try {
      return allocation.get();
    } catch (OutOfMemoryError e) {
      unclaim(lane);
      throw new LaneException(
          LaneError.ALLOCATION_FAILED, "lane = " + lane + ": no memory for its scratch");
    }
  }

  void unclaim(int lane) {
    CLAIMED.getAndBitwiseAnd(this, ~(1L << lane));
  }

  private static void checkConfigured(Manifest manifest, int lane) {
    if (lane < 0 || lane >= manifest.capacity()) {
      throw new LaneException(
          LaneError.INVALID_LANE, "lane = " + lane + ": must be below " + manifest.capacity());
    }
    if (!manifest.isConfigured(lane)) {
      throw new LaneException(LaneError.UNCONFIGURED_LANE, "lane = " + lane + ": has no pool");
    }
  }
}
