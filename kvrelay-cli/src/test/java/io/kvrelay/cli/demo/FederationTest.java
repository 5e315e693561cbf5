package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.cli.InputException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class FederationTest {
  private static final Workload WORKLOAD =
      new Workload("test", BuiltInWorkload.generate(300, 2), 1);
  private static final DemoSettings SETTINGS = DemoSettings.of(WORKLOAD, 3, 2, null, 4, "inproc");

  /** On drained knowledge the router decides as the plain rule does on the truth. */
  @Test
  void theRouterFollowsTheSameRuleAsExactKnowledge() {
    Simulation simulation = new Simulation(WORKLOAD, SETTINGS);
    List<DataCenter> dcs = simulation.dataCenters();
    try (Federation federation = Federation.open(WORKLOAD, SETTINGS)) {
      DcPolicy kv = federation.policy(dcs);
      DcPolicy exact = DcPolicy.longestPrefix(DcPolicy.exactKnowledge(dcs), dcs);
      int[] compared = new int[1];
      simulation.run(
          (nowMillis, prompt) -> {
            federation.drain();
            int mine = kv.choose(nowMillis, prompt);
            int[] depths = new int[3];
            federation.depths(prompt, depths);
            int theirs = exact.choose(nowMillis, prompt);
            if (mine != theirs) {
              // Nothing but the very last tie may differ: by pool id there, by index here.
              assertThat(dcs.get(mine).exactDepth(prompt))
                  .isEqualTo(dcs.get(theirs).exactDepth(prompt));
              assertThat(dcs.get(mine).load(nowMillis)).isEqualTo(dcs.get(theirs).load(nowMillis));
            }
            compared[0]++;
            return mine;
          },
          federation,
          done -> {},
          () -> false);
      assertThat(compared[0]).isEqualTo(300);
      federation.drain();
      assertThat(federation.hasConverged()).isTrue();
    }
  }

  @Test
  void whatIsNotPublishedYetIsNotKnownYet() {
    Simulation simulation = new Simulation(WORKLOAD, SETTINGS);
    try (Federation federation = Federation.open(WORKLOAD, SETTINGS)) {
      Prompt prompt = Prompt.of(1, 2, 3);
      simulation.dataCenters().get(2).execute(0, prompt, federation.events(2));
      int[] depths = {9, 9, 9};
      federation.depths(prompt, depths);
      assertThat(depths).containsExactly(0, 0, 0);
      federation.advanceTo(1);
      federation.depths(prompt, depths);
      assertThat(depths).containsExactly(0, 0, 3);
      assertThat(federation.exactEventBytes()).isEqualTo(24 + 3 * 16);
      assertThat(federation.traffic().deltas()).isEqualTo(1);
    }
  }

  @Test
  void differingWordsAreNotConvergence() {
    Simulation simulation = new Simulation(WORKLOAD, SETTINGS);
    try (Federation federation = Federation.open(WORKLOAD, SETTINGS)) {
      assertThat(federation.hasConverged()).isTrue();
      simulation.dataCenters().get(0).execute(0, Prompt.of(1), federation.events(0));
      assertThat(federation.hasConverged()).as("before the drain").isFalse();
      federation.drain();
      assertThat(federation.hasConverged()).isTrue();
    }
  }

  @Test
  void aPortInUseIsTheFaultOfTheOption() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String address = "grpc://127.0.0.1:" + taken.getLocalPort();
      DemoSettings settings = new DemoSettings(1, 1, 8, 1, address);
      assertThatThrownBy(() -> Federation.open(WORKLOAD, settings))
          .isInstanceOf(InputException.class)
          .hasMessageStartingWith("--transport = " + address + ": ")
          .hasMessageContaining("in use");
    }
  }

  @Test
  void addressesFollowOneAnother() {
    Addresses fixed = Addresses.parse("grpc://127.0.0.1:7400", 3);
    assertThat(fixed.of(2)).hasToString("grpc://127.0.0.1:7402");
    assertThat(Addresses.parse("grpc", 2).of(1)).hasToString("grpc://127.0.0.1:0");
    Addresses names = Addresses.parse("inproc", 2);
    assertThat(names.of(0)).hasScheme("inproc").isNotEqualTo(names.of(1));
    assertThat(Addresses.parse("inproc", 2).of(0)).isNotEqualTo(names.of(0));
    for (String bad : Arrays.asList("grpc://127.0.0.1", "grpc://127.0.0.1:65535", "a b", "x:y")) {
      assertThatThrownBy(() -> Addresses.parse(bad, 2))
          .isInstanceOf(InputException.class)
          .hasMessageStartingWith("--transport = " + bad + ": ");
    }
  }
}
