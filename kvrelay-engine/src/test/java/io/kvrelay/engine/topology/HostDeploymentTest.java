package io.kvrelay.engine.topology;

import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.base;
import static io.kvrelay.engine.topology.Cards.source;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HostDeploymentTest {
  private final HostDeployment host = new HostDeployment(VirtualRuntime.inOrder(1).executor());
  private final ModelCard card = base(E1, 1, "m").build();

  @Test
  void everyChangeIsOneRevisionAndNoChangeNone() {
    assertThat(host.put(card)).isTrue();
    assertThat(host.put(card)).isFalse();
    assertThat(host.live(E1, Set.of(1L))).isTrue();
    assertThat(host.live(E1, Set.of(1L))).isFalse();
    assertThat(host.advertise(source(E1, 1, 0, 5))).isTrue();
    assertThat(host.advertise(source(E1, 1, 0, 5))).isFalse();

    assertThat(host.current().revision()).isEqualTo(3);
    assertThat(host.current().cards()).containsExactly(card);
    assertThat(host.current().liveWorkers()).isEqualTo(Map.of(E1, Set.of(1L)));
  }

  @Test
  void anEmptyLiveSetIsAStatementAndUnknownIsNone() {
    assertThat(host.live(E1, Set.of())).isTrue();
    assertThat(host.current().liveWorkers()).isEqualTo(Map.of(E1, Set.of()));
    assertThat(host.livenessUnknown(E1)).isTrue();
    assertThat(host.livenessUnknown(E1)).isFalse();
    assertThat(host.current().liveWorkers()).isEmpty();
  }

  @Test
  void taintsOfAnUnknownCardOrEqualTaintsChangeNothing() {
    assertThat(host.updateTaints(E1, 1, null, Set.of("t"))).isFalse();
    host.put(card);
    assertThat(host.updateTaints(E1, 1, null, Set.of())).isFalse();
    assertThat(host.updateTaints(E1, 1, "suffix", Set.of("t"))).isFalse();
    assertThat(host.current().revision()).isEqualTo(1);
    assertThat(host.updateTaints(E1, 1, null, Set.of("t"))).isTrue();
    assertThat(host.current().cards().get(0).runtime().taints()).containsExactly("t");
  }

  @Test
  void aWithdrawalNamesExactlyOnePublisher() {
    host.advertise(source(E1, 1, 0, 5));
    assertThat(host.withdraw(E1, new Member(1, 0), 6)).isFalse();
    assertThat(host.current().eventSources()).hasSize(1);
    assertThat(host.withdraw(E1, new Member(1, 0), 5)).isTrue();
    assertThat(host.current().eventSources()).isEmpty();
  }

  @Test
  void aWorkerLeavesWithAllThatIsItsOwn() {
    host.put(card);
    host.put(base(E1, 2, "m").build());
    host.live(E1, Set.of(1L, 2L));
    host.advertise(source(E1, 1, 0, 5));
    host.advertise(source(E1, 2, 0, 6));

    assertThat(host.removeWorker(E1, 1)).isTrue();
    assertThat(host.removeWorker(E1, 1)).isFalse();
    assertThat(host.current().cards()).extracting(ModelCard::workerId).containsExactly(2L);
    assertThat(host.current().liveWorkers()).isEqualTo(Map.of(E1, Set.of(2L)));
    assertThat(host.current().eventSources()).containsExactly(source(E1, 2, 0, 6));
  }

  @Test
  void anEditIsOneRevision() {
    boolean changed =
        host.edit(
            deployment -> {
              deployment.put(card);
              deployment.live(E1, Set.of(1L));
              deployment.advertise(source(E1, 1, 0, 5));
            });

    assertThat(changed).isTrue();
    assertThat(host.current().revision()).isEqualTo(1);
    assertThat(host.edit(deployment -> deployment.put(card))).isFalse();
    assertThat(host.remove(E1, 1, null)).isTrue();
    assertThat(host.remove(E1, 1, null)).isFalse();
  }

  @Test
  void aReplacementIsComplete() {
    host.put(card);
    host.live(E1, Set.of(1L));

    assertThat(host.replace(List.of(base(E1, 3, "m").build()), Map.of(), List.of())).isTrue();
    assertThat(host.current().cards()).extracting(ModelCard::workerId).containsExactly(3L);
    assertThat(host.current().liveWorkers()).isEmpty();
    assertThat(host.replace(List.of(base(E1, 3, "m").build()), Map.of(), List.of())).isFalse();
  }
}
