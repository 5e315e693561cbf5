package io.kvrelay.simulation;

import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedWorker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Several data centers, each with a relay that follows its deployment, and several views that
 * follow all of them over links of their own. One seed is one world and one history.
 */
final class World {
  private static final Duration PATIENCE = Duration.ofMinutes(15);

  final Random random;
  final VirtualRuntime time;
  final List<SiteModel> sites = new ArrayList<>();
  final List<ViewModel> views = new ArrayList<>();
  private long nextWorker = 1;

  World(long seed) {
    Quiet.please();
    random = new Random(seed);
    time = VirtualRuntime.shuffling(seed);
    int siteCount = 2 + random.nextInt(2);
    int viewCount = 1 + random.nextInt(2);
    String run = "simulation-" + Long.toUnsignedString(seed, 36);
    for (int i = 0; i < siteCount; i++) {
      SiteModel site = new SiteModel(i, run, viewCount, time, 4 + random.nextInt(60));
      sites.add(site);
      int models = 1 + random.nextInt(PoolModel.MODELS.length);
      for (int model = 0; model < models; model++) {
        PoolModel pool = new PoolModel(model, seed);
        site.pools.add(pool);
        for (int worker = 1 + random.nextInt(4); worker > 0; worker--) {
          addWorker(site, pool);
        }
      }
    }
    for (int i = 0; i < viewCount; i++) {
      ViewModel view = new ViewModel(i, time);
      views.add(view);
      for (SiteModel site : sites) {
        view.view.attach(site.address(i));
      }
    }
  }

  SimulatedWorker addWorker(SiteModel site, PoolModel pool) {
    int blocks = 8 + random.nextInt(57);
    ModelCard card =
        ModelCard.builder(pool.endpoint, nextWorker++, pool.model)
            .kvBlockSize(16)
            .role(WorkerRole.AGGREGATED)
            .runtime(RuntimeConfig.ranks(0, 1 + random.nextInt(2), blocks))
            .build();
    SimulatedWorker worker = site.site.start(card, blocks);
    pool.workers.add(worker);
    return worker;
  }

  SiteModel anySite() {
    return sites.get(random.nextInt(sites.size()));
  }

  PoolModel anyPool(SiteModel site) {
    return site.pools.get(random.nextInt(site.pools.size()));
  }

  SimulatedWorker anyWorker(PoolModel pool) {
    return pool.workers.get(random.nextInt(pool.workers.size()));
  }

  SimulatedRank anyRank(PoolModel pool) {
    List<SimulatedRank> ranks = pool.ranks();
    return ranks.get(random.nextInt(ranks.size()));
  }

  /** Requests everywhere, while tasks run in a random order and time passes. */
  void traffic(int steps) {
    for (int step = 0; step < steps; step++) {
      anyPool(anySite()).serve(random);
      for (int i = random.nextInt(40); i > 0 && time.runOne(); i--) {
        // one task after the other
      }
      if (random.nextInt(3) == 0) {
        time.advance(Duration.ofMillis(random.nextInt(300)));
      }
    }
  }

  /** Lets everything that is under way come to its end. */
  void settle() {
    // First every recovery ends. Then every rank speaks once more, undisturbed, so that nothing
    // lost stays unnoticed, until every view follows.
    waitFor("ranks", this::unrest, () -> {});
    lastWords();
    waitFor("ranks", this::unrest, () -> {});
    waitFor("views", this::disagreement, this::lastWords);
    waitFor("ranks", this::unrest, () -> {});
  }

  private void waitFor(String what, Supplier<@Nullable String> missing, Runnable help) {
    long deadline = time.nanoTime() + PATIENCE.toNanos();
    time.advance(Duration.ofSeconds(3));
    String still = missing.get();
    for (int i = 1; still != null; i++) {
      if (time.nanoTime() > deadline) {
        throw new AssertionError(what + " do not settle: " + still);
      }
      if (i % 10 == 0) {
        help.run();
      }
      time.advance(Duration.ofSeconds(1));
      still = missing.get();
    }
  }

  /** A rank that is still busy, or null. */
  private @Nullable String unrest() {
    for (SiteModel site : sites) {
      for (PoolModel pool : site.pools) {
        KvPoolStatistics statistics = statistics(site, pool);
        boolean expected = !pool.listed().isEmpty();
        if (expected != (statistics != null)) {
          return "dc-" + site.number + " " + pool.model + ": pool is there: " + !expected;
        }
        if (statistics == null) {
          continue;
        }
        for (RankStatus rank : Objects.requireNonNull(statistics.following()).ranks()) {
          if (rank.recovering() || rank.queued() > 0 || rank.resetPending()) {
            return "dc-" + site.number + " " + pool.model + ": " + rank;
          }
        }
        if (statistics.actor().pool().pendingEvents() > 0) {
          return pool.model + " publishes";
        }
      }
    }
    return null;
  }

  /** A view that does not follow a pool to its end yet, or null. */
  private @Nullable String disagreement() {
    for (SiteModel site : sites) {
      for (PoolModel pool : site.pools) {
        KvPoolStatistics statistics = statistics(site, pool);
        for (ViewModel view : views) {
          if (statistics == null) {
            continue;
          }
          OptionalLong installed = view.view.installedSequence(statistics.producer().poolId());
          boolean same =
              view.view.pools().stream()
                  .anyMatch(shown -> shown.producer().equals(statistics.producer()));
          if (!same || !installed.equals(OptionalLong.of(statistics.actor().lastSequence()))) {
            return "dc-"
                + site.number
                + " "
                + pool.model
                + ": installed "
                + installed
                + " of "
                + statistics.actor().lastSequence()
                + "; "
                + view.view.state();
          }
        }
      }
    }
    return null;
  }

  @Nullable KvPoolStatistics statistics(SiteModel site, PoolModel pool) {
    return site.relay.statistics().pools().stream()
        .filter(statistics -> statistics.endpoint().equals(pool.endpoint))
        .findFirst()
        .orElse(null);
  }

  /** Faults are over: whoever crashed runs again, whoever is unlisted is listed, links heal. */
  void heal() {
    for (SiteModel site : sites) {
      site.events.heal();
      for (int view = 0; view < views.size(); view++) {
        site.link(view).heal();
        site.link(view).delay(Duration.ZERO);
        site.link(view).resume("view-" + view);
      }
      for (PoolModel pool : site.pools) {
        for (SimulatedWorker worker : pool.workers) {
          if (!worker.isRunning()) {
            worker.restart();
          }
          if (!worker.isListed()) {
            worker.list();
          }
          worker.live(true);
        }
      }
    }
  }

  private void lastWords() {
    for (SiteModel site : sites) {
      for (PoolModel pool : site.pools) {
        pool.speak();
        pool.workers.forEach(SimulatedWorker::reportLoad);
      }
    }
  }

  /**
   * What an operator does about ranks that are not exact although nothing is wrong any more: clears
   * them, and restarts their worker if that does not help.
   *
   * @return pools that needed it
   */
  List<PoolModel> remedy() {
    List<PoolModel> needed = new ArrayList<>();
    for (int attempt = 0; attempt < 2; attempt++) {
      boolean any = false;
      for (SiteModel site : sites) {
        for (PoolModel pool : site.pools) {
          for (RankStatus rank : notExact(site, pool)) {
            any = true;
            needed.add(pool);
            if (attempt == 0) {
              site.relay.clearRank(pool.endpoint, rank.member());
            } else {
              restartOwner(pool, rank);
            }
          }
        }
      }
      if (any) {
        settle();
      }
    }
    return needed;
  }

  private static void restartOwner(PoolModel pool, RankStatus rank) {
    pool.workers.stream()
        .filter(worker -> worker.id() == rank.member().workerId())
        .forEach(SimulatedWorker::restart);
  }

  List<RankStatus> notExact(SiteModel site, PoolModel pool) {
    KvPoolStatistics statistics = statistics(site, pool);
    return statistics == null
        ? List.of()
        : Objects.requireNonNull(statistics.following()).ranks().stream()
            .filter(rank -> rank.trust() != SourceTrust.EXACT)
            .toList();
  }

  /** Ends everything; nothing may stay scheduled. */
  void end() {
    views.forEach(view -> view.view.close());
    sites.forEach(SiteModel::end);
    time.advance(Duration.ofMinutes(1));
    if (time.pendingTimers() != 0 || time.readyTasks() != 0) {
      throw new AssertionError(
          "after the end " + time.pendingTimers() + " timers and " + time.readyTasks() + " tasks");
    }
  }
}
