package io.kvrelay.simulation;

import io.kvrelay.engine.relay.RelayPeek;
import io.kvrelay.engine.view.ViewPeek;
import io.kvrelay.testkit.sim.HistoryFault;
import io.kvrelay.testkit.sim.LiveFault;
import io.kvrelay.testkit.sim.SimulatedWorker;
import io.kvrelay.transport.inproc.InprocFaults;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;

/** Lets one thing go wrong at one boundary, and says what it may have touched. */
final class Faults {
  private static final List<String> STRIKES =
      List.of(
          "live batches of one rank",
          "history of one rank",
          "late batches",
          "lost history of one rank",
          "broken stream of one rank",
          "live stream of a site",
          "worker restart",
          "worker restart in place",
          "worker replaced",
          "worker crash",
          "worker unlisted",
          "worker not live",
          "endpoint vanishes",
          "all facts vanish",
          "relay restart",
          "link cut",
          "link frames",
          "link late",
          "link stalled",
          "ingestion worker of a view",
          "suspended relay",
          "suspended view",
          "wall clock",
          "fenced generation");

  private final World world;
  private final Random random;
  private final Touched touched;
  private final List<String> struck = new ArrayList<>();

  Faults(World world, Touched touched) {
    this.world = world;
    this.random = world.random;
    this.touched = touched;
  }

  /** What went wrong, for people. */
  List<String> struck() {
    return struck;
  }

  void strike() {
    String what = STRIKES.get(random.nextInt(STRIKES.size()));
    SiteModel site = world.anySite();
    PoolModel pool = world.anyPool(site);
    int view = random.nextInt(world.views.size());
    struck.add(what + " at dc-" + site.number + " " + pool.model + ", view " + view);
    switch (what) {
      case "live batches of one rank" -> liveBatches(site, pool);
      case "history of one rank" -> history(site, pool);
      case "late batches" -> late(site);
      case "lost history of one rank" -> lostHistory(site, pool);
      case "broken stream of one rank" -> brokenStream(site, pool);
      case "live stream of a site" -> liveStream(site);
      case "worker restart" -> worker(pool).restart();
      case "worker restart in place" -> worker(pool).restartInPlace();
      case "worker replaced" -> replaceWorker(site, pool);
      case "worker crash" -> worker(pool).crash();
      case "worker unlisted" -> unlist(site, pool);
      case "worker not live" -> world.anyWorker(pool).live(false);
      case "endpoint vanishes" -> vanish(site, List.of(pool));
      case "all facts vanish" -> vanish(site, site.pools);
      case "relay restart" -> restartRelay(site);
      case "link cut" -> link(site, view).cut();
      case "link frames" -> frames(link(site, view));
      case "link late" -> link(site, view).delay(Duration.ofMillis(random.nextInt(3000)));
      case "link stalled" -> link(site, view).stall("view-" + view);
      case "ingestion worker of a view" -> ingestionWorker(view);
      case "suspended relay" -> suspendRelay(site);
      case "suspended view" -> suspendView(view);
      case "wall clock" -> wallClock(site, view);
      case "fenced generation" -> fence(site, pool);
      default -> throw new AssertionError(what);
    }
  }

  private SimulatedWorker worker(PoolModel pool) {
    touched.ingest(pool);
    return world.anyWorker(pool);
  }

  private long publisher(PoolModel pool) {
    touched.ingest(pool);
    return pool.ranks().isEmpty() ? 0 : world.anyRank(pool).publisherId();
  }

  private void liveBatches(SiteModel site, PoolModel pool) {
    LiveFault[] all = LiveFault.values();
    site.events.next(all[random.nextInt(all.length)], publisher(pool), 1 + random.nextInt(8));
  }

  private void history(SiteModel site, PoolModel pool) {
    long publisher = publisher(pool);
    HistoryFault[] all = HistoryFault.values();
    site.events.next(LiveFault.LOSE, publisher, 1 + random.nextInt(3));
    site.events.next(all[random.nextInt(all.length)], publisher, 1 + random.nextInt(4));
  }

  private void late(SiteModel site) {
    site.pools.forEach(touched::ingest);
    site.events.delayLive(Duration.ofMillis(1 + random.nextInt(500)));
    site.events.delayHistory(Duration.ofMillis(random.nextInt(3000)));
  }

  private void lostHistory(SiteModel site, PoolModel pool) {
    // More than the ring holds: only a dump brings it back.
    site.events.next(LiveFault.LOSE, publisher(pool), 80);
  }

  private void brokenStream(SiteModel site, PoolModel pool) {
    site.events.discontinuity(publisher(pool), "by chance");
  }

  private void liveStream(SiteModel site) {
    site.pools.forEach(touched::ingest);
    site.events.failLive("by chance");
  }

  private void replaceWorker(SiteModel site, PoolModel pool) {
    touched.ingest(pool);
    SimulatedWorker old = world.anyWorker(pool);
    world.addWorker(site, pool);
    old.stop();
    pool.workers.remove(old);
  }

  private void unlist(SiteModel site, PoolModel pool) {
    worker(pool).unlist();
    if (pool.listed().isEmpty()) {
      touched.generation(site, pool, world.views.size());
    }
  }

  private void vanish(SiteModel site, List<PoolModel> pools) {
    for (PoolModel pool : pools) {
      touched.generation(site, pool, world.views.size());
    }
    site.site
        .facts()
        .edit(edited -> pools.forEach(pool -> pool.workers.forEach(SimulatedWorker::unlist)));
  }

  private void restartRelay(SiteModel site) {
    for (PoolModel pool : site.pools) {
      touched.generation(site, pool, world.views.size());
    }
    site.restartRelay();
  }

  private InprocFaults link(SiteModel site, int view) {
    site.pools.forEach(pool -> touched.lane(site, pool, view));
    return site.link(view);
  }

  private void frames(InprocFaults link) {
    link.drop(random.nextInt(3));
    link.duplicate(random.nextInt(3));
    link.reorder(random.nextInt(3));
  }

  private void ingestionWorker(int view) {
    for (SiteModel site : world.sites) {
      site.pools.forEach(pool -> touched.lane(site, pool, view));
    }
    ViewPeek.failWorker(world.views.get(view).view, random.nextInt(4));
  }

  private void suspendRelay(SiteModel site) {
    for (PoolModel pool : site.pools) {
      touched.ingest(pool);
      for (int view = 0; view < world.views.size(); view++) {
        touched.lane(site, pool, view);
      }
    }
    site.host.suspend(Duration.ofMillis(random.nextInt(100_000)));
  }

  private void suspendView(int view) {
    for (SiteModel site : world.sites) {
      site.pools.forEach(pool -> touched.lane(site, pool, view));
    }
    world.views.get(view).host.suspend(Duration.ofMillis(random.nextInt(100_000)));
  }

  /** Metadata only: touches nothing. */
  private void wallClock(SiteModel site, int view) {
    Duration jump = Duration.ofSeconds(random.nextInt(200_000) - 100_000);
    site.host.setWallClock(jump);
    world.views.get(view).host.setWallClock(jump.negated());
  }

  private void fence(SiteModel site, PoolModel pool) {
    touched.generation(site, pool, world.views.size());
    if (RelayPeek.actor(site.relay, pool.endpoint) != null) {
      Objects.requireNonNull(RelayPeek.actor(site.relay, pool.endpoint)).fence("by chance");
    }
  }
}
