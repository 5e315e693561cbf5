package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class SimulationTest {
  private static final Workload WORKLOAD =
      new Workload("test", BuiltInWorkload.generate(600, 5), 1);
  private static final DemoSettings SETTINGS = DemoSettings.of(WORKLOAD, 3, 2, null, 9, "none");

  private final Simulation simulation = new Simulation(WORKLOAD, SETTINGS);

  private void run(DcPolicy policy) {
    simulation.run(policy, Simulation.Surroundings.NONE, done -> {}, () -> false);
  }

  private DcPolicy exact() {
    List<DataCenter> dcs = simulation.dataCenters();
    return DcPolicy.longestPrefix(DcPolicy.exactKnowledge(dcs), dcs);
  }

  @Test
  void theDefaultCachesHoldAThirdOfTheDistinctBlocks() {
    long all = 6L * SETTINGS.cacheBlocks();
    assertThat(all).isBetween(WORKLOAD.distinctBlocks() / 3 - 6, WORKLOAD.distinctBlocks() / 3);
  }

  @Test
  void scoresEveryRequest() {
    run(DcPolicy.roundRobin(3));
    PolicyResult result = simulation.result(PolicyName.ROUND_ROBIN);
    assertThat(result.name()).isEqualTo("round-robin");
    assertThat(result.requests()).isEqualTo(600);
    assertThat(result.blocks()).isEqualTo(WORKLOAD.blocks());
    assertThat(result.dcRequests()).containsExactly(200L, 200L, 200L);
    assertThat(result.hitBlocks()).isBetween(1L, WORKLOAD.blocks() - WORKLOAD.distinctBlocks());
    assertThat(simulation.routeNanos().count()).isEqualTo(600);
  }

  @Test
  void stopsBetweenRequests() {
    AtomicInteger asked = new AtomicInteger();
    simulation.run(
        exact(),
        Simulation.Surroundings.NONE,
        done -> assertThat(done).isEqualTo(asked.get()),
        () -> asked.incrementAndGet() > 100);
    assertThat(simulation.result(PolicyName.EXACT).requests()).isEqualTo(100);
    assertThat(simulation.check(DcPolicy.exactKnowledge(simulation.dataCenters()))[0])
        .isEqualTo(300);
  }

  @Test
  void everyDataCenterEmitsOneClearAndTimeNeverGoesBack() {
    List<List<KvEvent>> events = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    List<Long> times = new ArrayList<>();
    simulation.run(
        exact(),
        new Simulation.Surroundings() {
          @Override
          public void advanceTo(long millis) {
            times.add(millis);
          }

          @Override
          public Consumer<KvEvent> events(int dc) {
            return events.get(dc)::add;
          }
        },
        done -> {},
        () -> false);
    assertThat(times).hasSize(600).isSorted();
    for (List<KvEvent> ofDc : events) {
      assertThat(ofDc).filteredOn(e -> e.kind() == KvEvent.Kind.CLEARED).hasSize(1);
      assertThat(ofDc).filteredOn(e -> e.kind() == KvEvent.Kind.REMOVED).isNotEmpty();
    }
  }

  @Test
  void findsWhatAnOracleGetsWrong() {
    run(exact());
    DepthOracle exact = DcPolicy.exactKnowledge(simulation.dataCenters());
    assertThat(simulation.check(exact)).containsExactly(1800, 0, 0);
    DepthOracle liar =
        (prompt, depths) -> {
          exact.depths(prompt, depths);
          depths[0]++;
          depths[2]--;
        };
    assertThat(simulation.check(liar)).containsExactly(1800, 600, 600);
  }

  @Test
  void knowledgeBeatsChance() {
    run(exact());
    double exact = simulation.result(PolicyName.EXACT).hitRatio();
    Simulation other = new Simulation(WORKLOAD, SETTINGS);
    other.run(DcPolicy.random(3, 1), Simulation.Surroundings.NONE, done -> {}, () -> false);
    assertThat(exact).isGreaterThan(1.2 * other.result(PolicyName.RANDOM).hitRatio());
  }
}
