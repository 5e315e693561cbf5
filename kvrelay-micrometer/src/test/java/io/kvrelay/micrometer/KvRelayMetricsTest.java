package io.kvrelay.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.topology.HostDeployment;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KvRelayMetricsTest {
  private static final EndpointId E = new EndpointId("prod", "backend", "generate");
  private static final Member A = new Member(1, 0);

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final HostDeployment facts = new HostDeployment(time.executor());
  private final InMemoryEventSource events = new InMemoryEventSource(time, 16);
  private final KvDcRelay relay =
      KvDcRelay.builder()
          .dcName("dc")
          .runtime(time)
          .deployment(facts, DiscoveryScope.ALL)
          .events(events)
          .deploymentConfig(DeploymentConfig.builder().expectedUniqueBlocks(1000).build())
          .start();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final KvRelayMetrics metrics = new KvRelayMetrics(relay, Tags.of("dc", "dc-a"));

  private InMemoryEventSource.Rank deploy() {
    InMemoryEventSource.Rank rank = events.start(E, A, true);
    facts.edit(
        deployment -> {
          deployment.put(
              ModelCard.builder(E, 1, "m").runtime(RuntimeConfig.ranks(0, 1, 100)).build());
          deployment.live(E, Set.of(1L));
          deployment.advertise(rank.advertisement());
        });
    settle();
    return rank;
  }

  private void settle() {
    time.advance(Duration.ofSeconds(1));
  }

  private double value(String name, String... tags) {
    Meter meter = registry.get(name).tags(tags).meter();
    return meter.measure().iterator().next().getValue();
  }

  /** Counters by kind and tier, and index occupancy. */
  @Test
  void eventsAreCountedByKindAndTierAndTheIndexIsMeasured() {
    metrics.bindTo(registry);
    InMemoryEventSource.Rank rank = deploy();
    rank.store(new long[] {1, 2}, new long[] {1, 2});
    rank.publish(
        KvEvent.stored(A, rank.nextEventId(), new long[] {3}, new long[] {3})
            .tier(StorageTier.HOST_PINNED)
            .build());
    rank.remove(2);
    settle();

    String[] pool = {"endpoint", "prod.backend.generate", "dc", "dc-a"};
    assertThat(value("kvrelay.pool.events", "kind", "stored", "tier", "device")).isEqualTo(1);
    assertThat(value("kvrelay.pool.events", "kind", "stored", "tier", "host_pinned")).isEqualTo(1);
    assertThat(value("kvrelay.pool.events", "kind", "removed", "tier", "device")).isEqualTo(1);
    assertThat(value("kvrelay.pool.ignored", "reason", "non_primary_tier")).isEqualTo(1);
    assertThat(value("kvrelay.pool.blocks", pool)).isEqualTo(1);
    assertThat(value("kvrelay.pool.filter.blocks", pool)).isEqualTo(1);
    assertThat(value("kvrelay.pool.filter.slots", pool)).isGreaterThan(1000);
    assertThat(value("kvrelay.pool.ranks", "trust", "exact")).isEqualTo(1);
    assertThat(value("kvrelay.load.capacity", pool)).isEqualTo(100);
    assertThat(value("kvrelay.load.used", pool)).isNaN();
    assertThat(value("kvrelay.healthy")).isEqualTo(1);
    assertThat(value("kvrelay.endpoints", "state", "active")).isEqualTo(1);
  }

  /** Missing parents are counted in blocks. */
  @Test
  void blocksWithoutTheirParentAreCounted() {
    metrics.bindTo(registry);
    InMemoryEventSource.Rank rank = deploy();
    rank.send(
        new KvEventBatch(
            rank.advertisement().publisherId(),
            List.of(
                KvEvent.stored(A, 1, new long[] {5, 6, 7}, new long[] {5, 6, 7})
                    .parent(4)
                    .build())));
    settle();
    assertThat(value("kvrelay.pool.parents.missing")).isEqualTo(3);
    assertThat(value("kvrelay.pool.refused", "error", "parent_block_not_found")).isEqualTo(1);
    assertThat(value("kvrelay.ingest", "what", "rejected_sources")).isEqualTo(1);
    assertThat(value("kvrelay.pool.barred")).isEqualTo(1);
    assertThat(value("kvrelay.problems")).isEqualTo(1);
  }

  @Test
  void metersOfAPoolComeAndGoWithIt() {
    metrics.bindTo(registry);
    settle();
    int without = registry.getMeters().size();
    for (int i = 0; i < 3; i++) {
      InMemoryEventSource.Rank rank = deploy();
      assertThat(registry.getMeters()).hasSizeGreaterThan(without);
      rank.stop();
      facts.edit(
          deployment -> {
            deployment.remove(E, 1, null);
            deployment.withdraw(E, A, rank.advertisement().publisherId());
          });
      settle();
      assertThat(registry.getMeters()).hasSize(without);
    }
  }

  @Test
  void aRegistryBoundLateSeesThePoolsThereAre() {
    deploy();
    metrics.bindTo(registry);
    settle();
    SimpleMeterRegistry second = new SimpleMeterRegistry();
    metrics.bindTo(second);
    assertThat(second.get("kvrelay.pool.blocks").gauges()).hasSize(1);
    assertThat(second.getMeters()).hasSameSizeAs(registry.getMeters());
  }

  @Test
  void nothingIsLeftOnceClosed() {
    metrics.bindTo(registry);
    deploy();
    metrics.close();
    settle();
    assertThat(registry.getMeters()).isEmpty();
    deploy();
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void aRelayThatEndedHasNoPoolsMeters() {
    metrics.bindTo(registry);
    deploy();
    relay.shutdown();
    settle();
    assertThat(registry.find("kvrelay.pool.blocks").meters()).isEmpty();
    assertThat(value("kvrelay.shutting.down")).isEqualTo(1);
  }
}
