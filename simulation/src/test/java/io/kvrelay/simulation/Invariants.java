package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.hash.SequenceHashes;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.StatePeek;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.engine.relay.RelayPeek;
import io.kvrelay.engine.view.LoadReading;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PoolReadiness;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedWorker;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** What holds at every quiet moment. */
final class Invariants {
  private final World world;

  Invariants(World world) {
    this.world = world;
  }

  /** All of them. */
  void check() {
    for (SiteModel site : world.sites) {
      assertThat(site.relay.health().healthy()).as(site.relay.health().toString()).isTrue();
      for (PoolModel pool : site.pools) {
        check(site, pool);
      }
    }
  }

  private void check(SiteModel site, PoolModel pool) {
    String name = "dc-" + site.number + " " + pool.model;
    PoolActor actor = Objects.requireNonNull(RelayPeek.actor(site.relay, pool.endpoint), name);
    assertThat(world.notExact(site, pool)).as(name).isEmpty();
    exactStateIsTheUnionOfTheCaches(name, pool, actor);
    long[] words = StatePeek.words(actor);
    for (ViewModel view : world.views) {
      viewEqualsProducer(name, pool, actor, words, view);
    }
  }

  private static void exactStateIsTheUnionOfTheCaches(
      String name, PoolModel pool, PoolActor actor) {
    Set<Member> holders = new TreeSet<>();
    for (SimulatedRank rank : pool.ranks()) {
      if (!rank.blocks().isEmpty()) {
        holders.add(rank.member());
      }
      assertRank(name, rank, actor);
    }
    assertThat(StatePeek.members(actor)).as(name).isEqualTo(holders);
  }

  /** What a rank that claims to be exact is worth, whatever happens elsewhere. */
  static void assertRank(String name, SimulatedRank rank, PoolActor actor) {
    Map<Long, Long> blocks = rank.blocks();
    assertThat(StatePeek.size(actor, rank.member()))
        .as("blocks of %s %s", name, rank.member())
        .isEqualTo(blocks.size());
    blocks.forEach(
        (engine, sequence) ->
            assertThat(StatePeek.maps(actor, rank.member(), engine, sequence))
                .as("%s %s holds %s", name, rank.member(), Long.toUnsignedString(sequence))
                .isTrue());
  }

  /** Before any remedy: exact is exact, and only what was touched may be anything else. */
  void checkClaims(Touched touched) {
    for (SiteModel site : world.sites) {
      for (PoolModel pool : site.pools) {
        KvPoolStatistics statistics = world.statistics(site, pool);
        PoolActor actor = RelayPeek.actor(site.relay, pool.endpoint);
        if (statistics == null || actor == null) {
          continue;
        }
        Map<Member, SimulatedRank> ranks = new HashMap<>();
        pool.ranks().forEach(rank -> ranks.put(rank.member(), rank));
        for (RankStatus status : Objects.requireNonNull(statistics.following()).ranks()) {
          String name = "dc-" + site.number + " " + pool.model + " " + status;
          if (status.trust() == SourceTrust.EXACT) {
            assertRank(name, Objects.requireNonNull(ranks.get(status.member()), name), actor);
          } else {
            assertThat(touched.hasIngest(pool)).as("untouched: " + name).isTrue();
          }
        }
      }
    }
  }

  /** Only what was touched may need a remedy. */
  void needed(PoolModel pool, Touched touched) {
    assertThat(touched.hasIngest(pool)).as("untouched: " + pool.model).isTrue();
  }

  private void viewEqualsProducer(
      String name, PoolModel pool, PoolActor actor, long[] words, ViewModel view) {
    PoolId id = actor.identity().poolId();
    long[] lane = new long[words.length];
    assertThat(view.view.copyLaneWords(id, lane)).as(name).isTrue();
    assertThat(lane).as("words of " + name).isEqualTo(words);
    Set<Long> held = new HashSet<>();
    pool.ranks().forEach(rank -> held.addAll(rank.blocks().values()));
    for (long[] prompt : pool.prompts) {
      PoolMatch found =
          view.view
              .match(PrefixRequest.builder(pool.model).localHashes(null, prompt).build())
              .pool(id)
              .orElseThrow();
      long[] sequence = SequenceHashes.chain(prompt);
      int scanned = scan(new CkfAddressing(actor.identity().format()), words, sequence);
      assertThat(found.depthBlocks()).as(name + " " + found).hasValue(scanned);
      assertThat(scanned)
          .as("a filter this empty omits nothing")
          .isGreaterThanOrEqualTo(depth(held, sequence));
      assertThat(found.readiness()).as(name).isEqualTo(PoolReadiness.READY);
      assertThat(found.load()).as(name).isEqualTo(load(pool));
    }
  }

  /** The depth by looking at one block after the other. */
  private static int scan(CkfAddressing addressing, long[] words, long[] sequence) {
    int depth = 0;
    while (depth < sequence.length) {
      long mix = addressing.mix(sequence[depth]);
      int fingerprint = CkfAddressing.fingerprint(mix);
      if (!CkfBuckets.contains(words[addressing.bucketA(mix)], fingerprint)
          && !CkfBuckets.contains(words[addressing.bucketB(mix)], fingerprint)) {
        break;
      }
      depth++;
    }
    return depth;
  }

  private static int depth(Set<Long> held, long[] sequence) {
    int depth = 0;
    while (depth < sequence.length && held.contains(sequence[depth])) {
      depth++;
    }
    return depth;
  }

  /** Every rank has just reported. */
  private static LoadReading load(PoolModel pool) {
    long used = 0;
    long total = 0;
    int ranks = 0;
    for (SimulatedWorker worker : pool.workers) {
      for (SimulatedRank rank : worker.ranks()) {
        used += rank.blocks().size();
        total += rank.capacity();
        ranks++;
      }
    }
    return new LoadReading(LoadReading.Coverage.FULL, used, total, ranks, ranks);
  }
}
