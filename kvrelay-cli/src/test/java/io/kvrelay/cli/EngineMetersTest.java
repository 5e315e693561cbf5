package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.cli.config.EngineReading;
import io.kvrelay.cli.config.FakeEngines;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EngineMetersTest {
  private static final EndpointId E = EndpointId.parse("a.b.c");

  private final List<EngineReading> readings = new ArrayList<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final EngineMeters meters =
      new EngineMeters(
          new FakeEngines() {
            @Override
            public List<EngineReading> readings() {
              return readings;
            }
          },
          registry);

  private void read(long worker, Map<String, Long> counters) {
    readings.add(new EngineReading(E, new Member(worker, 0), "tcp://h:" + worker, counters));
  }

  @Test
  void ranksOfAnEndpointAreSummedUpAndLeaveWithIt() {
    read(1, Map.of("gaps", 2L, "messages", 10L));
    read(2, Map.of("gaps", 3L));
    meters.refresh();
    assertThat(registry.get(EngineMeters.NAME).tag("what", "gaps").functionCounter().count())
        .isEqualTo(5);
    readings.remove(0);
    meters.refresh();
    assertThat(registry.get(EngineMeters.NAME).functionCounters()).hasSize(1);
    readings.clear();
    meters.refresh();
    assertThat(registry.getMeters()).isEmpty();
  }
}
