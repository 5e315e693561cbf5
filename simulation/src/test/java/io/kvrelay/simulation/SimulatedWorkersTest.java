package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.testkit.sim.JumpingRuntime;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedSite;
import io.kvrelay.testkit.sim.SimulatedWorker;
import java.time.Duration;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The test kit's workers behave as caches do, and say what they do. */
class SimulatedWorkersTest {
  private static final EndpointId E = new EndpointId("prod", "m", "generate");

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final SimulatedSite site = new SimulatedSite("dc", time, 16);
  private final SimulatedWorker worker = site.start(card(2), 4);

  private static ModelCard card(int ranks) {
    return ModelCard.builder(E, 1, "m")
        .kvBlockSize(16)
        .runtime(RuntimeConfig.ranks(0, ranks, 4))
        .build();
  }

  @Test
  void theLeastRecentlyUsedLeavesGoFirst() {
    SimulatedRank rank = worker.rank(0);
    assertThat(rank.serve(1, 2)).isZero();
    assertThat(rank.serve(1, 3)).as("a shared prefix").isEqualTo(1);
    assertThat(rank.serve(1, 2, 4)).isEqualTo(2);
    assertThat(rank.blocks()).hasSize(4);
    assertThat(rank.serve(1, 2, 5)).isEqualTo(2);
    assertThat(rank.depth(1, 3)).as("the oldest leaf is gone").isEqualTo(1);
    assertThat(rank.depth(1, 2, 4)).isEqualTo(3);
    assertThat(rank.serve(9, 8, 7, 6, 5)).as("longer than the cache").isZero();
    assertThat(rank.depth(9, 8, 7, 6, 5)).isEqualTo(4);
    assertThat(worker.rank(1).blocks()).as("ranks are independent").isEmpty();
  }

  @Test
  void whatItSaysIsWhatItHolds() {
    Random random = new Random(Seeds.first());
    SimulatedRank rank = worker.rank(0);
    for (int i = 0; i < 2000; i++) {
      switch (random.nextInt(20)) {
        case 0 -> rank.evict(random.nextInt(4));
        case 1 -> rank.clear();
        default -> rank.serve(random.longs(1 + random.nextInt(6), 0, 5).toArray());
      }
      assertThat(rank.blocks()).isEqualTo(rank.publisher().blocks());
      assertThat(rank.blocks().size()).isLessThanOrEqualTo(rank.capacity());
    }
  }

  @Test
  void theFactsFollowTheWorker() {
    long publisher = worker.rank(0).publisherId();
    assertThat(site.facts().current().eventSources()).hasSize(2);
    worker.rank(0).serve(1);
    worker.restart();
    assertThat(worker.rank(0).publisherId()).isNotEqualTo(publisher);
    assertThat(worker.rank(0).blocks()).isEmpty();
    assertThat(site.facts().current().eventSources())
        .hasSize(2)
        .noneMatch(source -> source.publisherId() == publisher);

    long second = worker.rank(0).publisherId();
    worker.rank(0).serve(1);
    worker.restartInPlace();
    assertThat(worker.rank(0).publisherId()).isEqualTo(second);
    assertThat(worker.rank(0).blocks()).isEmpty();

    worker.live(false);
    assertThat(site.facts().current().liveWorkers()).containsEntry(E, Set.of());
    worker.crash();
    assertThat(worker.isRunning()).isFalse();
    assertThat(site.facts().current().cards()).hasSize(1);
    worker.stop();
    assertThat(site.facts().current().cards()).isEmpty();
    assertThat(site.facts().current().eventSources()).isEmpty();
    assertThatThrownBy(() -> site.start(card(1), 0)).hasMessageContaining("cacheBlocks = 0");
  }

  @Test
  void clocksJumpAndTimersStay() {
    JumpingRuntime host = new JumpingRuntime(time);
    boolean[] fired = {false};
    host.schedule(1_000, () -> fired[0] = true);
    long before = host.nanoTime();
    long wall = host.currentTimeMillis();
    host.suspend(Duration.ofSeconds(5));
    host.setWallClock(Duration.ofMinutes(-1));
    assertThat(host.nanoTime() - before).isEqualTo(Duration.ofSeconds(5).toNanos());
    assertThat(host.currentTimeMillis() - wall).isEqualTo(-55_000);
    time.runUntilIdle();
    assertThat(fired[0]).isFalse();
    time.advance(Duration.ofNanos(1_000));
    assertThat(fired[0]).isTrue();
    assertThatThrownBy(() -> host.suspend(Duration.ofNanos(-1))).hasMessageContaining("duration");
  }
}
