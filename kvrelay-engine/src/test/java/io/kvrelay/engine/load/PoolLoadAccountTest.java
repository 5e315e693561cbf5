package io.kvrelay.engine.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.engine.load.LoadCoverage.Dimension;
import io.kvrelay.engine.testing.Seeds;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PoolLoadAccountTest {
  static final ProducerIdentity PRODUCER =
      new ProducerIdentity(
          new PoolId(
              new IndexerDomainId(
                  new CacheSemanticsId(new Digest(1, 2), IdentitySource.EXPLICIT),
                  new RoutingScopeId(new Digest(3, 4), IdentitySource.EXPLICIT)),
              new DcId(5)),
          6,
          7,
          new CkfFormat(1, 16));
  private static final OptionalLong NONE = OptionalLong.empty();

  private final List<PoolLoad> published = new ArrayList<>();
  private final PoolLoadAccount account = new PoolLoadAccount(PRODUCER, published::add);

  private static RuntimeConfig ranks(int size, long totalKvBlocks) {
    return RuntimeConfig.ranks(0, size, totalKvBlocks);
  }

  private static OptionalLong of(long value) {
    return OptionalLong.of(value);
  }

  private boolean observe(long worker, int rank, OptionalLong kv, OptionalLong d, OptionalLong p) {
    return account.observe(new LoadReport(new Member(worker, rank), kv, d, p));
  }

  private boolean used(long worker, int rank, long blocks) {
    return observe(worker, rank, of(blocks), NONE, NONE);
  }

  private static PoolLoad load(
      OptionalLong used, OptionalLong total, int observed, int capacity, int expected) {
    return new PoolLoad(PRODUCER, used, total, observed, capacity, expected);
  }

  @Test
  void kvAloneIsFullCoverage() {
    account.capacity(Map.of(1L, ranks(1, 100)));
    observe(1, 0, of(40), of(30), NONE);

    LoadCoverage coverage = account.coverage();
    assertThat(coverage.isDegraded()).isFalse();
    assertThat(coverage.prefill()).isEqualTo(new Dimension(0, 0, 0, 0));
    assertThat(coverage.kv()).isEqualTo(new Dimension(1, 1, 40, 100));
    assertThat(account.load()).isEqualTo(load(of(40), of(100), 1, 1, 1));
  }

  @Test
  void aDeclaredTotalOfZeroIsUnknownCapacity() {
    account.capacity(Map.of(1L, ranks(2, 0).withMaxNumBatchedTokens(2048)));
    used(1, 0, 40);

    LoadCoverage coverage = account.coverage();
    assertThat(coverage.kv()).isEqualTo(new Dimension(0, 0, 0, 0));
    assertThat(coverage.prefill()).isEqualTo(new Dimension(2, 0, 0, 4096));
    assertThat(account.load()).isEqualTo(load(NONE, NONE, 1, 0, 2));
  }

  @Test
  void unacceptableRanksRefuseTheWholeCapacityAndClearEverything() {
    for (RuntimeConfig bad :
        List.of(ranks(4097, 100), ranks(0, 100), RuntimeConfig.ranks(-1, 2, 100))) {
      assertThat(account.capacity(Map.of(1L, ranks(4096, 100)))).isTrue();
      assertThat(account.load().kvExpectedRanks()).isEqualTo(4096);
      used(1, 0, 40);

      assertThat(account.capacity(Map.of(1L, ranks(1, 100), 2L, bad))).isFalse();
      assertThat(account.load()).isEqualTo(load(NONE, NONE, 0, 0, 0));
      assertThat(account.coverage().isDegraded()).isTrue();
      assertThat(account.refusal()).contains("worker 2: dataParallelSize = ");
      assertThat(used(1, 0, 40)).isFalse();
    }
    assertThat(account.statistics().refusedCapacities()).isEqualTo(3);
  }

  @Test
  void aRefusedCapacityAtTheStartIsAnEmptyLoad() {
    account.capacity(Map.of(1L, ranks(0, 100)));

    assertThat(published).containsExactly(load(NONE, NONE, 0, 0, 0));
    assertThat(published.get(0).isDegraded()).isTrue();
  }

  @Test
  void aRefusedCapacityHealsWithoutOldReports() {
    account.capacity(Map.of(1L, ranks(1, 100)));
    used(1, 0, 40);
    account.capacity(Map.of(1L, ranks(0, 100)));
    account.capacity(Map.of(1L, ranks(1, 100)));

    assertThat(account.refusal()).isNull();
    assertThat(account.load()).isEqualTo(load(NONE, of(100), 0, 1, 1));
  }

  @Test
  void eachDimensionKeepsItsOwnLatestValue() {
    account.capacity(Map.of(1L, ranks(2, 100).withMaxNumBatchedTokens(2048)));
    used(1, 0, 40);
    observe(1, 0, NONE, of(30), NONE);
    observe(1, 0, of(42), NONE, NONE);
    observe(1, 0, NONE, NONE, of(512));

    LoadCoverage coverage = account.coverage();
    assertThat(coverage.kv()).isEqualTo(new Dimension(2, 1, 42, 200));
    assertThat(coverage.decode()).isEqualTo(new Dimension(2, 1, 30, 0));
    assertThat(coverage.prefill()).isEqualTo(new Dimension(2, 1, 512, 4096));
    assertThat(coverage.isDegraded()).isTrue();
    assertThat(account.load()).isEqualTo(load(NONE, of(200), 1, 2, 2));
  }

  @Test
  void oneRankOfUnknownCapacityLeavesTheTotalUnsetAndOneSilentRankTheUsage() {
    RuntimeConfig unknown =
        new RuntimeConfig(0, 1, NONE, NONE, null, false, java.util.Set.of(), Map.of());
    account.capacity(Map.of(1L, ranks(1, 100), 2L, unknown));
    used(1, 0, 40);
    used(2, 0, 2);
    assertThat(account.coverage().kv()).isEqualTo(new Dimension(1, 1, 40, 100));
    assertThat(account.load()).isEqualTo(load(of(42), NONE, 2, 1, 2));
    assertThat(account.load().isDegraded()).isTrue();

    account.capacity(Map.of(1L, ranks(1, 100), 2L, unknown, 3L, ranks(1, 1)));
    assertThat(account.load()).isEqualTo(load(NONE, NONE, 2, 2, 3));
  }

  @Test
  void anUnknownRankIsIgnoredAndAnEmptyReportHasNoEffect() {
    account.capacity(Map.of(1L, ranks(1, 100)));
    int before = published.size();

    assertThat(used(1, 1, 5)).isFalse();
    assertThat(used(2, 0, 5)).isFalse();
    assertThat(observe(1, 0, NONE, NONE, NONE)).isTrue();
    assertThat(published).hasSize(before);
    assertThat(account.statistics()).isEqualTo(new PoolLoadAccount.Statistics(1, 2, 1, 0, 0));
  }

  @Test
  void aStreamThatEndedIsForgottenAndTheCapacityStays() {
    account.capacity(Map.of(1L, ranks(2, 100).withMaxNumBatchedTokens(10)));
    observe(1, 0, of(1), of(2), of(3));
    observe(1, 1, of(1), of(2), of(3));
    assertThat(account.coverage().isDegraded()).isFalse();

    account.forget();
    assertThat(account.coverage().kv()).isEqualTo(new Dimension(2, 0, 0, 200));
    assertThat(account.coverage().prefill()).isEqualTo(new Dimension(2, 0, 0, 20));
    assertThat(account.coverage().isDegraded()).isTrue();
    assertThat(account.load()).isEqualTo(load(NONE, of(200), 0, 2, 2));
  }

  @Test
  void aRankThatIsGoneLosesItsReportAndTheOthersKeepTheirs() {
    account.capacity(Map.of(1L, ranks(2, 100), 2L, ranks(1, 100)));
    used(1, 0, 1);
    used(1, 1, 2);
    used(2, 0, 4);

    account.capacity(Map.of(1L, ranks(1, 100), 2L, ranks(1, 100)));
    assertThat(account.load()).isEqualTo(load(of(5), of(200), 2, 2, 2));
    account.capacity(Map.of(1L, ranks(2, 100), 2L, ranks(1, 100)));
    assertThat(account.load()).isEqualTo(load(NONE, of(300), 2, 3, 3));
  }

  @Test
  void aRankWhoseKvCapacityChangedLosesItsKvReportAlone() {
    account.capacity(Map.of(1L, ranks(1, 100).withMaxNumBatchedTokens(10), 2L, ranks(1, 100)));
    observe(1, 0, of(1), of(2), of(3));
    used(2, 0, 4);

    account.capacity(Map.of(1L, ranks(1, 50).withMaxNumBatchedTokens(10), 2L, ranks(1, 100)));
    assertThat(account.load()).isEqualTo(load(NONE, of(150), 1, 2, 2));
    assertThat(account.coverage().decode().value()).isEqualTo(2);
    assertThat(account.coverage().prefill().value()).isEqualTo(3);

    account.capacity(Map.of(1L, ranks(1, 50).withMaxNumBatchedTokens(20), 2L, ranks(1, 100)));
    used(1, 0, 9);
    account.capacity(Map.of(1L, ranks(1, 50).withMaxNumBatchedTokens(30), 2L, ranks(1, 100)));
    assertThat(account.load()).isEqualTo(load(of(13), of(150), 2, 2, 2));
  }

  @Test
  void nothingIsExpectedWithoutConfiguration() {
    assertThat(account.coverage().isDegraded()).isTrue();
    account.capacity(Map.of());
    assertThat(account.coverage().isDegraded()).isTrue();
    assertThat(account.load().isDegraded()).isTrue();
  }

  @Test
  void sumsSaturateAndRecover() {
    account.capacity(Map.of(1L, ranks(3, -2)));
    used(1, 0, -1);
    used(1, 1, 5);
    used(1, 2, -1);
    assertThat(account.load()).isEqualTo(load(of(-1), of(-1), 3, 3, 3));

    used(1, 0, 1);
    used(1, 2, 2);
    assertThat(account.load().kvUsedBlocks()).isEqualTo(of(8));
  }

  @Test
  void anUnchangedLoadIsPublishedOnce() {
    account.capacity(Map.of(1L, ranks(1, 100)));
    used(1, 0, 40);
    used(1, 0, 40);
    account.capacity(Map.of(1L, ranks(1, 100)));
    observe(1, 0, NONE, of(4), NONE);

    assertThat(published)
        .containsExactly(load(NONE, of(100), 0, 1, 1), load(of(40), of(100), 1, 1, 1));
  }

  @Test
  void aReportAfterTheEndIsIgnored() {
    account.capacity(Map.of(1L, ranks(1, 100)));
    account.end();

    assertThat(used(1, 0, 40)).isFalse();
    assertThat(account.statistics().lateReports()).isEqualTo(1);
    assertThat(published).hasSize(1);
  }

  @Test
  void capacityNamesWhatItRefuses() {
    assertThatThrownBy(() -> LoadCapacity.of(Map.of(-1L, RuntimeConfig.ranks(-1, 1, 0))))
        .hasMessageContaining("worker 18446744073709551615")
        .hasMessageContaining("dataParallelStartRank = 4294967295");
    assertThat(LoadCapacity.of(Map.of(1L, RuntimeConfig.ranks(-2, 1, 0))).ranks()).hasSize(1);
  }

  /** Against sums taken anew each time, with numbers of any size. */
  @Test
  void randomReportsAndCapacitiesAgreeWithANaiveSum() {
    Random random = Seeds.random();
    Map<Long, RuntimeConfig> workers = new HashMap<>();
    Map<Member, long[]> reports = new HashMap<>();
    for (int step = 0; step < 5000; step++) {
      long worker = random.nextInt(4);
      int choice = random.nextInt(20);
      if (choice == 0) {
        workers.remove(worker);
        reports.keySet().removeIf(member -> member.workerId() == worker);
        account.capacity(workers);
      } else if (choice < 3) {
        RuntimeConfig next =
            RuntimeConfig.ranks(random.nextInt(2), 1 + random.nextInt(3), random.nextInt(3) - 1L);
        RuntimeConfig old = workers.put(worker, next);
        boolean sameTotal = old != null && old.totalKvBlocks().equals(next.totalKvBlocks());
        reports
            .keySet()
            .removeIf(m -> m.workerId() == worker && !(sameTotal && declares(next, m.dpRank())));
        account.capacity(workers);
      } else if (choice == 3) {
        reports.clear();
        account.forget();
      } else {
        Member member = new Member(worker, random.nextInt(4));
        long blocks = random.nextInt(4) == 0 ? -1L - random.nextInt(5) : random.nextInt(100);
        boolean taken = account.observe(LoadReport.kvUsed(member, blocks));
        RuntimeConfig config = workers.get(worker);
        assertThat(taken).isEqualTo(config != null && declares(config, member.dpRank()));
        if (taken) {
          reports.put(member, new long[] {blocks});
        }
      }
      assertThat(account.load()).isEqualTo(naive(workers, reports));
    }
  }

  private static boolean declares(RuntimeConfig config, int rank) {
    return rank >= config.dataParallelStartRank()
        && rank < config.dataParallelStartRank() + config.dataParallelSize();
  }

  private static PoolLoad naive(Map<Long, RuntimeConfig> workers, Map<Member, long[]> reports) {
    int expected = 0;
    int known = 0;
    BigInteger total = BigInteger.ZERO;
    for (RuntimeConfig config : workers.values()) {
      expected += config.dataParallelSize();
      long each = config.totalKvBlocks().getAsLong();
      known += each == 0 ? 0 : config.dataParallelSize();
      BigInteger ranks = BigInteger.valueOf(config.dataParallelSize());
      total = total.add(new BigInteger(Long.toUnsignedString(each)).multiply(ranks));
    }
    BigInteger used = BigInteger.ZERO;
    for (long[] report : reports.values()) {
      used = used.add(new BigInteger(Long.toUnsignedString(report[0])));
    }
    return load(
        expected > 0 && reports.size() == expected ? of(saturated(used)) : NONE,
        expected > 0 && known == expected ? of(saturated(total)) : NONE,
        reports.size(),
        known,
        expected);
  }

  private static long saturated(BigInteger value) {
    return value.bitLength() > 64 ? -1L : value.longValue();
  }
}
