package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Replays at once are bounded, and begin in the order of asking once their delay is over. */
class ReplayGateTest {
  private final ReplayGate<String> gate = new ReplayGate<>(2);

  @Test
  void noMoreThanThePermitsBegin() {
    gate.ask("a", 0);
    gate.ask("b", 0);
    gate.ask("c", 0);
    assertThat(gate.next(0)).isEqualTo("a");
    assertThat(gate.next(0)).isEqualTo("b");
    assertThat(gate.next(0)).isNull();
    assertThat(gate.isIdle()).isFalse();
    gate.done();
    assertThat(gate.next(0)).isEqualTo("c");
    assertThat(gate.isIdle()).isTrue();
  }

  @Test
  void nobodyBeginsBeforeItsDelayAndALongOneHoldsUpNobody() {
    gate.ask("slow", 50);
    gate.ask("quick", 10);
    assertThat(gate.next(9)).isNull();
    assertThat(gate.next(10)).isEqualTo("quick");
    assertThat(gate.next(50)).isEqualTo("slow");
  }

  @Test
  void whoAsksAgainKeepsItsPlaceAndWhoLeavesIsForgotten() {
    gate.ask("a", 0);
    gate.ask("b", 0);
    gate.ask("a", 99);
    gate.leave("b");
    assertThat(gate.next(0)).isEqualTo("a");
    assertThat(gate.next(0)).isNull();
  }
}
