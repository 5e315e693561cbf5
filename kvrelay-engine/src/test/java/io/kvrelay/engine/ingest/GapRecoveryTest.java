package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.history;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.events.SourceTrust;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Gaps, what the source answers, and what becomes of what was buffered meanwhile. */
class GapRecoveryTest {
  private static final long P = 11;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  @Test
  void aGapAsksOnceForWhatIsMissingAndDrainsWhatCameMeanwhile() {
    rig.bringLive(A, P, 1);
    rig.live(P, A, 4, 3);
    assertThat(rig.events.starts(A)).containsExactly(-1L, 2L);
    assertThat(rig.cursor(A)).hasValue(1);
    assertThat(rig.blocks(A)).containsExactly(1L);

    rig.events.last(A).answer(history(A, 2, 2));
    rig.settle();
    assertThat(rig.port.admitted(A)).containsExactly(2L, 3L, 4L);
    assertThat(rig.cursor(A)).hasValue(4);
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }
}
