package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.ENDPOINT;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.history;
import static io.kvrelay.engine.ingest.IngestRig.liveOnly;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.SourceTrust;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How far a rank is trusted, and what an unreachable source costs. */
class TrustTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  private void trust(long publisher, SourceTrust level, String reason) {
    rig.events.listener.onTrust(publisher, level, reason);
    rig.settle();
  }

  private void endSubscription() {
    rig.events.listener.onFailure(
        new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, "watch lost"));
    rig.settle();
  }

  /** users' ask J9. */
  @Test
  void theWorseOfTheProvidersJudgementAndOursCounts() {
    rig.bringLive(A, P, 1);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    trust(P, SourceTrust.DEGRADED, "replay was truncated");
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    assertThat(rig.status(A).reason()).isEqualTo("replay was truncated");
    trust(P, SourceTrust.EXACT, "");
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    rig.live(P, A, 3);
    assertThat(rig.status(A).reason()).isEqualTo("a gap is being recovered");
  }

  @Test
  void whatAProviderSaidBeforeItsSourceWasTakenUpCounts() {
    rig.start();
    trust(P, SourceTrust.DEGRADED, "never heard of it");
    rig.with(liveOnly(A, P));
    rig.reconcile();
    rig.live(P, IngestRig.clear(A, 1, io.kvrelay.api.ResidencyDomain.WORKER));
    assertThat(rig.status(A).reason()).isEqualTo("never heard of it");
  }

  /** users' ask C7. */
  @Test
  void aSourceThatIsUnknownForTenSecondsIsResetAndComesBackVerified() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    rig.advance(9_999);
    assertThat(rig.blocks(A)).as("it may still be right").hasSize(2);
    rig.advance(1);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(B)).hasSize(2);
    assertThat(rig.status(A).reason()).isEqualTo("no heartbeat");
    assertThat(rig.count(IngestCount.UNKNOWN_RESETS)).isEqualTo(1);
    rig.live(P, A, 3);
    assertThat(rig.count(IngestCount.UNREACHABLE_BATCHES)).isEqualTo(1);
    rig.reconcile();
    rig.advance(60_000);
    assertThat(rig.blocks(A)).isEmpty();

    trust(P, SourceTrust.EXACT, "");
    rig.live(P, A, 4);
    rig.jitter();
    assertThat(rig.blocks(A)).as("not before a verified state").isEmpty();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    rig.events.last(A).answer(dumpOf(A, 3, 2, 3));
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(2L, 3L, 4L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aSourceThatIsKnownAgainInTimeLosesNothing() {
    rig.bringLive(A, P, 2);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    rig.advance(9_000);
    trust(P, SourceTrust.DEGRADED, "catching up");
    rig.advance(9_000);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    rig.advance(9_000);
    assertThat(rig.blocks(A)).hasSize(2);
    assertThat(rig.port.resets(A)).isZero();
  }

  @Test
  void anUnknownRankWhoseResetFailsIsResetLater() {
    rig.bringLive(A, P, 2);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    rig.port.failResets = 1;
    rig.advance(10_000);
    assertThat(rig.blocks(A)).hasSize(2);
    assertThat(rig.status(A).resetPending()).isTrue();
    rig.advance(100);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.status(A).resetPending()).isFalse();
    assertThat(rig.events.asked).as("still unknown: not taken up").hasSize(1);
    trust(P, SourceTrust.EXACT, "");
    rig.jitter();
    assertThat(rig.events.asked).hasSize(2);
  }

  @Test
  void anotherSourceOfAnUnknownRankIsTakenUpAtOnce() {
    rig.bringLive(A, P, 2);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    rig.advance(10_000);
    rig.with(recoverable(A, Q));
    rig.reconcile();
    rig.jitter();
    assertThat(rig.events.last(A).source().publisherId()).isEqualTo(Q);
    assertThat(rig.status(A).recovering()).isTrue();
  }

  @Test
  void aBreakOfAnUnknownSourceThatWasResetChangesNothing() {
    rig.bringLive(A, P, 2);
    trust(P, SourceTrust.UNKNOWN, "no heartbeat");
    rig.advance(10_000);
    rig.events.listener.onDiscontinuity(P, "reconnecting");
    rig.settle();
    assertThat(rig.port.resets(A)).isEqualTo(1);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(rig.handle(rig.fault(A, P, io.kvrelay.engine.pool.PoolFault.Action.RECOVER_RANK)))
        .isEqualTo(FaultOutcome.HANDLED);
    assertThat(rig.status(A).recovering()).isFalse();
  }

  @Test
  void anEndedSubscriptionIsTakenUpAgainAndWhatWasMissedAskedFor() {
    rig.bringLive(A, P, 2);
    rig.with(liveOnly(B, Q));
    rig.reconcile();
    rig.live(Q, B, 1);
    endSubscription();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(rig.status(A).reason()).contains("watch lost");
    assertThat(rig.blocks(A)).as("kept meanwhile").hasSize(2);
    rig.advance(100);
    assertThat(rig.events.followed).containsExactly(ENDPOINT, ENDPOINT);
    assertThat(rig.events.starts(A)).containsExactly(-1L, 3L);
    assertThat(rig.blocks(B)).as("nothing to ask: it starts over").isEmpty();
    rig.events.last(A).answer(history(A, 3, 3));
    rig.settle();
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 3L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    rig.live(Q, B, 9);
    assertThat(rig.blocks(B)).containsExactly(9L);
  }

  @Test
  void aSubscriptionThatCannotBeHadIsTriedLessAndLessOftenAndItsRanksAreResetInTheEnd() {
    rig.bringLive(A, P, 2);
    rig.events.refuseToFollow = true;
    endSubscription();
    rig.advance(9_999);
    assertThat(rig.blocks(A)).hasSize(2);
    int tries = rig.events.followed.size();
    assertThat(tries).isBetween(6, 9);
    rig.advance(1);
    assertThat(rig.blocks(A)).isEmpty();
    rig.events.refuseToFollow = false;
    rig.advance(5_000);
    assertThat(rig.status(A).recovering()).isTrue();
    rig.events.last(A).answer(dumpOf(A, 4, 4));
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(4L);
  }
}
