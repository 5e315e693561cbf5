package io.kvrelay.engine.view;

import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuarantinedEntry;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a catalog must satisfy. Descriptors check themselves; only what lies between them is left.
 */
final class CatalogRules implements WatchPlane.Rules<PoolCatalog> {
  private final ViewCounters counters;
  private final RevisionMemory<PoolCatalog> memory = new RevisionMemory<>("catalog");

  CatalogRules(ViewCounters counters) {
    this.counters = counters;
  }

  @Override
  public void begin() {
    memory.begin();
  }

  @Override
  public @Nullable PoolCatalog judge(PoolCatalog catalog) {
    boolean isNew = memory.isNew(catalog.revision(), catalog);
    if (!isNew) {
      counters.increment(ViewCounter.CATALOG_HEARTBEATS);
      return null;
    }
    checkKeys(catalog);
    memory.remember(catalog.revision(), catalog);
    counters.increment(ViewCounter.CATALOGS_APPLIED);
    counters.add(ViewCounter.CATALOG_ENTRIES_QUARANTINED, catalog.quarantined().size());
    return catalog;
  }

  /** A pool that occurs twice, or both usable and not, makes the whole snapshot ambiguous. */
  private static void checkKeys(PoolCatalog catalog) {
    Set<PoolId> seen = new HashSet<>();
    for (PoolDescriptor pool : catalog.pools()) {
      if (!seen.add(pool.poolId())) {
        throw StreamPlane.violation("catalog pool = " + pool.poolId() + ": listed twice");
      }
    }
    for (QuarantinedEntry entry : catalog.quarantined()) {
      PoolId pool = entry.poolId();
      if (pool != null && !seen.add(pool)) {
        throw StreamPlane.violation("catalog pool = " + pool + ": listed twice");
      }
    }
  }
}
