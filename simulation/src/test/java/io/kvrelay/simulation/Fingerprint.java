package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.engine.view.ViewPeek;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Everything that a fault elsewhere must not change, at one quiet moment. */
final class Fingerprint {
  /** What an ingest counts when something is invalidated, lost, repaired or refused. */
  private static final List<IngestCount> DISTURBANCES =
      List.of(
          IngestCount.UNBOUND_BATCHES,
          IngestCount.FOREIGN_BATCHES,
          IngestCount.INACTIVE_BATCHES,
          IngestCount.UNREACHABLE_BATCHES,
          IngestCount.OVERFLOWED_BATCHES,
          IngestCount.STALE_EVENTS,
          IngestCount.STALE_CLEARS,
          IngestCount.BUFFERED_EVENTS,
          IngestCount.EVICTED_EVENTS,
          IngestCount.ABANDONED_EVENTS,
          IngestCount.GAPS,
          IngestCount.LIVE_ONLY_GAPS,
          IngestCount.LOSSES,
          IngestCount.SKIPPED_IDS,
          IngestCount.FULL_RECOVERIES,
          IngestCount.HISTORY_RECOVERIES,
          IngestCount.FAILED_ATTEMPTS,
          IngestCount.REBUILDS,
          IngestCount.ACTIVATIONS,
          IngestCount.DEACTIVATIONS,
          IngestCount.RESETS,
          IngestCount.FAILED_RESETS,
          IngestCount.FENCES,
          IngestCount.REPAIRS,
          IngestCount.REJECTED_SOURCES,
          IngestCount.POOL_FENCES,
          IngestCount.DISCONTINUITIES,
          IngestCount.UNKNOWN_RESETS,
          IngestCount.ENDED_SUBSCRIPTIONS);

  private record Ingest(Map<IngestCount, Long> counts, long faults) {}

  private final Map<PoolModel, ProducerIdentity> generations = new HashMap<>();
  private final Map<PoolModel, Ingest> ingests = new HashMap<>();
  private final Map<String, ViewPeek.Binding> lanes = new HashMap<>();

  static Fingerprint of(World world) {
    Fingerprint taken = new Fingerprint();
    for (SiteModel site : world.sites) {
      for (PoolModel pool : site.pools) {
        taken.take(world, site, pool);
      }
    }
    return taken;
  }

  private void take(World world, SiteModel site, PoolModel pool) {
    KvPoolStatistics statistics = world.statistics(site, pool);
    if (statistics == null) {
      return;
    }
    generations.put(pool, statistics.producer());
    Map<IngestCount, Long> counts = new EnumMap<>(IngestCount.class);
    for (IngestCount what : DISTURBANCES) {
      counts.put(what, Objects.requireNonNull(statistics.following()).ingest().of(what));
    }
    ingests.put(pool, new Ingest(counts, statistics.actor().faults()));
    for (int view = 0; view < world.views.size(); view++) {
      ViewPeek.Binding binding =
          ViewPeek.binding(world.views.get(view).view, statistics.producer().poolId());
      if (binding != null) {
        lanes.put(laneName(site, pool, view), binding);
      }
    }
  }

  private static String laneName(SiteModel site, PoolModel pool, int view) {
    return "view " + view + " of dc-" + site.number + " " + pool.model;
  }

  /** Whatever the faults did not touch is as it was. */
  void assertUntouched(World world, Fingerprint after, Touched touched) {
    for (SiteModel site : world.sites) {
      for (PoolModel pool : site.pools) {
        String name = "dc-" + site.number + " " + pool.model;
        if (!touched.hasGeneration(pool)) {
          same("generation of " + name, generations.get(pool), after.generations.get(pool));
        }
        if (!touched.hasIngest(pool)) {
          same("ingest of " + name, ingests.get(pool), after.ingests.get(pool));
        }
        for (int view = 0; view < world.views.size(); view++) {
          if (!touched.hasLane(site, pool, view)) {
            String lane = laneName(site, pool, view);
            same(lane, lanes.get(lane), after.lanes.get(lane));
          }
        }
      }
    }
  }

  private static void same(String what, @Nullable Object before, @Nullable Object now) {
    assertThat(now).as("untouched: " + what).isEqualTo(before);
  }
}
