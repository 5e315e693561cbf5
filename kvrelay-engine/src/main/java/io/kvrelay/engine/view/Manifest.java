package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.PoolId;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which pool each lane of one table stands for. Immutable: binding or releasing a lane makes a new
 * manifest, checked by the same rules.
 *
 * <p>All pools belong to one indexer domain and share one filter format; no pool and no data center
 * has two lanes.
 */
final class Manifest {
  private static final System.Logger LOG = System.getLogger(Manifest.class.getName());

  private final long consumerInstance;
  private final IndexerDomainId domain;
  private final CkfFormat format;
  private final @Nullable PoolId[] pools;
  private final long configuredLanes;

  private Manifest(
      long consumerInstance, IndexerDomainId domain, CkfFormat format, @Nullable PoolId[] pools) {
    this.consumerInstance = consumerInstance;
    this.domain = domain;
    this.format = format;
    this.pools = pools;
    this.configuredLanes = check(domain, pools);
  }

  /**
   * A manifest whose lanes are known beforehand.
   *
   * @param pools one pool per lane; null where the lane stays free. The length is the capacity
   * @throws LaneException if a pool breaks the rules or there is none
   */
  static Manifest of(
      long consumerInstance, IndexerDomainId domain, CkfFormat format, @Nullable PoolId... pools) {
    checkCapacity(pools.length);
    Manifest manifest = new Manifest(consumerInstance, domain, format, pools.clone());
    if (manifest.configuredLanes == 0) {
      throw new LaneException(LaneError.NO_CONFIGURED_LANES, "lanes = 0: no lane has a pool");
    }
    manifest.warnIfDefaultDerived();
    return manifest;
  }

  /**
   * A manifest whose lanes are bound while it is in use.
   *
   * @param capacity number of lanes, 1..64
   */
  static Manifest empty(
      long consumerInstance, IndexerDomainId domain, CkfFormat format, int capacity) {
    checkCapacity(capacity);
    return new Manifest(consumerInstance, domain, format, new @Nullable PoolId[capacity]);
  }

  private static void checkCapacity(int capacity) {
    if (capacity < 1 || capacity > LaneLease.MAX_LANES) {
      throw new LaneException(
          LaneError.INVALID_LANE, "lanes = " + capacity + ": must be in 1.." + LaneLease.MAX_LANES);
    }
  }

  private static long check(IndexerDomainId domain, @Nullable PoolId[] pools) {
    long configured = 0;
    for (int lane = 0; lane < pools.length; lane++) {
      PoolId pool = pools[lane];
      if (pool != null) {
        checkLane(domain, pools, lane, pool);
        configured |= 1L << lane;
      }
    }
    return configured;
  }

  private static void checkLane(
      IndexerDomainId domain, @Nullable PoolId[] pools, int lane, PoolId pool) {
    if (!pool.indexerDomain().equals(domain)) {
      throw new LaneException(
          LaneError.MIXED_INDEXER_DOMAIN,
          "lane " + lane + " = " + pool + ": its domain is not the table's, " + domain);
    }
    for (int before = 0; before < lane; before++) {
      PoolId placed = pools[before];
      if (pool.equals(placed)) {
        throw new LaneException(
            LaneError.DUPLICATE_POOL, "lane " + lane + " = " + pool + ": has lane " + before);
      }
      // Within one domain the data center determines the pool, so this is a guard.
      if (placed != null && pool.dcId().equals(placed.dcId())) {
        throw new LaneException(
            LaneError.DUPLICATE_DC_LANE,
            "lane " + lane + " = data center " + pool.dcId() + ": has lane " + before);
      }
    }
  }

  private void warnIfDefaultDerived() {
    if (Long.bitCount(configuredLanes) < 2) {
      return;
    }
    boolean semantics = domain.cacheSemantics().source() == IdentitySource.DEFAULT_DERIVED;
    boolean scope = domain.routingScope().source() == IdentitySource.DEFAULT_DERIVED;
    if (semantics || scope) {
      LOG.log(
          Level.WARNING,
          "several data centers share an indexer domain that was not configured but derived from"
              + " defaults: {0}{1}{2}",
          semantics ? "cache_semantics" : "",
          semantics && scope ? ", " : "",
          scope ? "routing_scope" : "");
    }
  }

  /** The manifest with one more lane. */
  Manifest withLane(int lane, PoolId pool) {
    @Nullable PoolId[] changed = pools.clone();
    changed[lane] = pool;
    Manifest manifest = new Manifest(consumerInstance, domain, format, changed);
    if (Long.bitCount(manifest.configuredLanes) == 2 && Long.bitCount(configuredLanes) == 1) {
      manifest.warnIfDefaultDerived();
    }
    return manifest;
  }

  /** The manifest without a lane. */
  Manifest withoutLane(int lane) {
    @Nullable PoolId[] changed = pools.clone();
    changed[lane] = null;
    return new Manifest(consumerInstance, domain, format, changed);
  }

  long consumerInstance() {
    return consumerInstance;
  }

  IndexerDomainId domain() {
    return domain;
  }

  CkfFormat format() {
    return format;
  }

  /** Number of lanes there are, bound or not. */
  int capacity() {
    return pools.length;
  }

  /** Bit i: lane i has a pool. */
  long configuredLanes() {
    return configuredLanes;
  }

  boolean isConfigured(int lane) {
    return lane >= 0 && lane < pools.length && pools[lane] != null;
  }

  /** The pool of a configured lane. */
  PoolId pool(int lane) {
    return Objects.requireNonNull(pools[lane], "lane without a pool");
  }

  /** The lane of a pool, or -1. */
  int laneOf(PoolId pool) {
    return Arrays.asList(pools).indexOf(pool);
  }

  /** The lane of a data center, or -1. */
  int laneOf(DcId dcId) {
    return laneOf(new PoolId(domain, dcId));
  }
}
