package io.kvrelay.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPool;
import io.kvrelay.engine.relay.KvPoolSpec;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class KvViewMetricsTest {
  private final VirtualRuntime time = VirtualRuntime.inOrder(1);

  @Test
  void aViewsCountsAndLanesAreMeters() {
    KvDcRelay relay = KvDcRelay.builder().dcName("dc").runtime(time).start();
    CompletableFuture<KvPool> opening =
        relay.openPool(
            KvPoolSpec.builder()
                .endpoint("a.b.c")
                .model("m")
                .blockSize(4)
                .expectedUniqueBlocks(100)
                .build());
    time.runUntilIdle();
    KvGlobalView view = KvGlobalView.create(ViewConfig.DEFAULTS, time);
    view.attach(relay.source());
    opening
        .join()
        .apply(KvEvent.stored(new Member(1, 0), 1, new long[] {1}, new long[] {1}).build());
    time.advance(Duration.ofSeconds(1));
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    KvViewMetrics metrics = new KvViewMetrics(view, Tags.of("router", "r1"), time::nanoTime);
    metrics.bindTo(registry);

    assertThat(registry.get("kvrelay.view.lanes").tag("state", "ready").gauge().value())
        .isEqualTo(1);
    assertThat(registry.get("kvrelay.view.table.memory").gauge().value()).isPositive();
    view.match(PrefixRequest.builder("m").localHashes(null, 1).build());
    time.advance(Duration.ofSeconds(1));
    assertThat(registry.get("kvrelay.view.queries").tag("router", "r1").functionCounter().count())
        .isEqualTo(1);
    assertThat(registry.get("kvrelay.view.filter.snapshots.installed").functionCounter().count())
        .isEqualTo(1);

    metrics.close();
    assertThat(registry.getMeters()).isEmpty();
  }
}
