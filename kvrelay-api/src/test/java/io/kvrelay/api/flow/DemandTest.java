package io.kvrelay.api.flow;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DemandTest {
  private final Demand demand = new Demand();

  @Test
  void requestsAddUpAndAreTakenOneByOne() {
    assertThat(demand.isPresent()).isFalse();
    assertThat(demand.tryTake()).isFalse();
    demand.add(2);
    demand.add(1);
    for (int i = 0; i < 3; i++) {
      assertThat(demand.isPresent()).isTrue();
      assertThat(demand.tryTake()).isTrue();
    }
    assertThat(demand.tryTake()).isFalse();
  }

  @Test
  void theyAddUpToEverythingAtMostAndThatIsNeverUsedUp() {
    demand.add(Long.MAX_VALUE - 1);
    demand.add(Long.MAX_VALUE);
    for (int i = 0; i < 1000; i++) {
      assertThat(demand.tryTake()).isTrue();
    }
    demand.add(5);
    assertThat(demand.isPresent()).isTrue();
    assertThat(demand.fault()).isNull();
  }

  @Test
  void theFirstRequestThatIsNotPositiveIsTheFault() {
    demand.add(0);
    demand.add(-3);
    assertThat(demand.fault()).hasMessageContaining("request(0)");
    assertThat(demand.isPresent()).isFalse();
  }
}
