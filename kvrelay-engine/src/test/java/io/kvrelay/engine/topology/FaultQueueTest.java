package io.kvrelay.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.engine.topology.SourceFault.Action;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class FaultQueueTest {
  private final FaultQueue queue = new FaultQueue();

  private static SourceFault fault(long worker, long publisher, Action action) {
    return new SourceFault(
        new Member(worker, 0),
        publisher,
        action,
        OptionalLong.empty(),
        KvEventErrorKind.BLOCK_NOT_FOUND);
  }

  @Test
  void manyFaultsOfOneRankAreOneAndARejectWins() {
    assertThat(queue.offer(fault(1, 5, Action.RECOVER))).isTrue();
    for (int i = 0; i < 999; i++) {
      assertThat(queue.offer(fault(1, 5, Action.RECOVER))).isFalse();
    }
    assertThat(queue.offer(fault(1, 5, Action.REJECT))).isTrue();
    assertThat(queue.offer(fault(1, 5, Action.RECOVER))).isFalse();

    assertThat(queue.poll()).isEqualTo(fault(1, 5, Action.REJECT));
    assertThat(queue.poll()).isNull();
  }

  @Test
  void aFaultOfAnotherPublisherReplacesEvenAReject() {
    queue.offer(fault(1, 5, Action.REJECT));
    assertThat(queue.offer(fault(1, 6, Action.RECOVER))).isTrue();

    assertThat(queue.poll()).isEqualTo(fault(1, 6, Action.RECOVER));
  }

  @Test
  void ranksAreHandledInTheOrderOfTheirFirstFault() {
    queue.offer(fault(1, 5, Action.RECOVER));
    queue.offer(fault(2, 5, Action.RECOVER));
    queue.offer(fault(1, 5, Action.REJECT));

    assertThat(queue.poll()).isEqualTo(fault(1, 5, Action.REJECT));
    assertThat(queue.poll()).isEqualTo(fault(2, 5, Action.RECOVER));
  }

  @Test
  void aSeventeenthRankFencesTheProducer() {
    for (int worker = 0; worker < 16; worker++) {
      queue.offer(fault(worker, 5, Action.RECOVER));
    }
    queue.offer(fault(0, 5, Action.REJECT));
    assertThat(queue.fence()).isNull();

    queue.offer(fault(16, 5, Action.RECOVER));
    assertThat(queue.fence()).contains("16/0");
    assertThat(queue.size()).isZero();
  }

  @Test
  void aProducerFenceOverridesAndTheFirstReasonStays() {
    queue.offer(fault(1, 5, Action.REJECT));
    queue.fence("first");
    queue.fence("second");

    assertThat(queue.fence()).isEqualTo("first");
    assertThat(queue.poll()).isNull();
    assertThat(queue.offer(fault(2, 5, Action.RECOVER))).isFalse();
    assertThat(queue.poll()).isNull();
  }
}
