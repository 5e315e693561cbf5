package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.testing.Seeds;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random events against {@link PoolModel}. {@code -Dkvrelay.events=1000000} is the long form. */
class PoolModelTest {
  private static final int EVENTS = Integer.getInteger("kvrelay.events", 20_000);

  @ParameterizedTest
  @CsvSource({"1, 3, 1, 1", "300, 16, 4, 40", "4000, 64, 8, 400"})
  void exactStateFilterAndPublishedImageAgreeWithTheModel(
      long expectedBlocks, int publishEvery, int members, int chains) {
    Random random = Seeds.random();
    PoolEvents events = new PoolEvents(random, members, chains);
    PoolModel model = new PoolModel();
    PoolState pool = new PoolState(CkfConfig.of(expectedBlocks), publishEvery);
    Mirror mirror = new Mirror(pool.copyWords());
    pool.startMaterializing();

    for (int i = 0; i < EVENTS; i++) {
      if (random.nextInt(500) == 0) {
        changeRanks(random, events, pool, model, mirror);
      }
      KvEvent event = events.next();
      long capacityFailures = pool.statistics().capacityFailures();
      KvEventErrorKind expected = model.apply(event);

      EventOutcome outcome = pool.apply(event);

      boolean omitted = pool.statistics().capacityFailures() != capacityFailures;
      assertThat(outcome.firstError())
          .as("%s", event)
          .isEqualTo(expected == null && omitted ? KvEventErrorKind.CAPACITY_EXHAUSTED : expected);
      mirror.apply(outcome.publication());
      if (outcome.boundary()) {
        assertThat(mirror.words).isEqualTo(pool.copyWords());
      }
      if (i % 1000 == 0) {
        check(pool, model);
      }
    }
    mirror.apply(pool.drain());
    assertThat(mirror.words).isEqualTo(pool.copyWords());
    check(pool, model);
  }

  private static void changeRanks(
      Random random, PoolEvents events, PoolState pool, PoolModel model, Mirror mirror) {
    Member member = events.member();
    switch (random.nextInt(3)) {
      case 0 -> {
        assertThat(pool.removeRank(member)).isNull();
        model.lineage.remove(member);
      }
      case 1 -> {
        assertThat(pool.removeWorker(member.workerId())).isNull();
        model.removeWorker(member.workerId());
      }
      default -> replace(random, events, pool, model, member);
    }
    mirror.apply(pool.drain());
    assertThat(mirror.words).isEqualTo(pool.copyWords());
    check(pool, model);
  }

  private static void replace(
      Random random, PoolEvents events, PoolState pool, PoolModel model, Member member) {
    PoolModel dump = new PoolModel();
    Map<Member, RankReplacement> replacements = new HashMap<>();
    for (Member named : new Member[] {member, events.member()}) {
      replacements.put(named, new RankReplacement(named));
    }
    for (int i = random.nextInt(400); i > 0; i--) {
      KvEvent event = events.next();
      RankReplacement replacement = replacements.get(event.member());
      if (replacement != null && event.kind() != KvEvent.Kind.CLEARED) {
        assertThat(replacement.push(event)).isEqualTo(dump.apply(event));
      }
    }
    assertThat(pool.replaceRanks(replacements)).isNull();
    model.lineage.keySet().removeAll(replacements.keySet());
    model.lineage.putAll(dump.lineage);
    model.unknownRemovals += dump.unknownRemovals;
    model.ignored += dump.ignored;
  }

  static void check(PoolState pool, PoolModel model) {
    Map<Long, Long> owners = model.owners();
    PoolStatistics statistics = pool.statistics();
    assertThat(pool.members()).containsExactlyElementsOf(model.lineage.keySet());
    model.lineage.forEach(
        (member, known) -> {
          assertThat(pool.mappingCount(member)).isEqualTo(known.size());
          known.forEach((e, hash) -> assertThat(pool.sequenceHash(member, e)).isEqualTo(hash));
        });
    assertThat(statistics.contributions()).isEqualTo(model.contributions());
    assertThat(statistics.uniqueBlocks()).isEqualTo(owners.size());
    assertThat(statistics.unknownRemovals()).isEqualTo(model.unknownRemovals);
    assertThat(statistics.parentNotFound()).isEqualTo(model.parentNotFound);
    assertThat(statistics.ignored().values().stream().mapToLong(n -> n).sum())
        .isEqualTo(model.ignored);
    owners.forEach((hash, count) -> assertThat(pool.ownerCount(hash)).isEqualTo(count));
    checkFilter(pool, owners, statistics);
  }

  /** Every resident has exactly one copy of its representation, and there is nothing else. */
  private static void checkFilter(
      PoolState pool, Map<Long, Long> owners, PoolStatistics statistics) {
    CkfAddressing addressing = new CkfAddressing(pool.config().format());
    Map<Long, Integer> representations = new HashMap<>();
    int residents = 0;
    for (long hash : owners.keySet()) {
      if (pool.isResident(hash)) {
        residents++;
        long mix = addressing.mix(hash);
        representations.merge(
            representation(addressing, addressing.bucketA(mix), CkfAddressing.fingerprint(mix)),
            1,
            Integer::sum);
        assertThat(pool.filterContains(hash)).isTrue();
      }
    }
    long[] words = pool.copyWords();
    for (int bucket = 0; bucket < words.length; bucket++) {
      for (int slot = 0; slot < 4; slot++) {
        int fingerprint = CkfBuckets.fingerprint(words[bucket], slot);
        if (fingerprint != 0) {
          representations.merge(representation(addressing, bucket, fingerprint), -1, Integer::sum);
        }
      }
    }
    assertThat(representations.values()).allMatch(difference -> difference == 0);
    assertThat(statistics.occupiedSlots()).isEqualTo(residents);
  }

  private static long representation(CkfAddressing addressing, int bucket, int fingerprint) {
    int pair = Math.min(bucket, addressing.alternate(bucket, fingerprint));
    return (long) pair << 16 | fingerprint;
  }
}
