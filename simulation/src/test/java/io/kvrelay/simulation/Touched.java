package io.kvrelay.simulation;

import java.util.HashSet;
import java.util.Set;

/** What the faults of an episode may have disturbed. All else must not have noticed. */
final class Touched {
  private final Set<Object> ingest = new HashSet<>();
  private final Set<Object> generations = new HashSet<>();
  private final Set<Object> lanes = new HashSet<>();

  private record Lane(SiteModel site, PoolModel pool, int view) {}

  /** Ranks of a pool may have been emptied, recovered, or taken up again. */
  void ingest(PoolModel pool) {
    ingest.add(pool);
  }

  /** The pool may have got another generation, or have been gone for a while. */
  void generation(SiteModel site, PoolModel pool, int views) {
    ingest(pool);
    generations.add(pool);
    for (int view = 0; view < views; view++) {
      lane(site, pool, view);
    }
  }

  /** A view's replica of a pool may have started over. */
  void lane(SiteModel site, PoolModel pool, int view) {
    lanes.add(new Lane(site, pool, view));
  }

  boolean hasIngest(PoolModel pool) {
    return ingest.contains(pool);
  }

  boolean hasGeneration(PoolModel pool) {
    return generations.contains(pool);
  }

  boolean hasLane(SiteModel site, PoolModel pool, int view) {
    return lanes.contains(new Lane(site, pool, view));
  }
}
