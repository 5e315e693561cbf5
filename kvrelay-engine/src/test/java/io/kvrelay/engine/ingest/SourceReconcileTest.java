package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.A1;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.ENDPOINT;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.liveOnly;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.SourceTrust;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which source a rank reads, and what happens when that changes. */
class SourceReconcileTest {
  private static final long P = 11;
  private static final long Q = 12;

  private final IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  @Test
  void aLiveOnlySourceStartsWithWhateverEventComesFirst() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 9);
    assertThat(rig.cursor(A)).hasValue(9);
    assertThat(rig.blocks(A)).containsExactly(9L);
    assertThat(rig.events.asked).isEmpty();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aRecoverableSourceAdmitsNothingBeforeItsFullRecovery() {
    rig.with(recoverable(A, P)).start();
    rig.live(P, A, 6);
    assertThat(rig.events.asked).isEmpty();
    rig.jitter();
    rig.live(P, A, 7);
    assertThat(rig.events.starts(A)).containsExactly(-1L);
    assertThat(rig.port.log).isEmpty();
    assertThat(rig.status(A).buffered()).isEqualTo(2);
    assertThat(rig.status(A).recovering()).isTrue();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);

    rig.events.last(A).answer(dumpOf(A, 5, 1, 2));
    rig.settle();
    assertThat(rig.port.log).containsExactly("replace [1/0]", "admit 1/0 6", "admit 1/0 7");
    assertThat(rig.blocks(A)).containsExactly(1L, 2L, 6L, 7L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.status(A).reason()).isEmpty();
  }

  @Test
  void viewsWithTheSameSourceChangeNothing() {
    rig.bringLive(A, P, 2);
    rig.reconcile();
    rig.reconcile();
    rig.jitter();
    assertThat(rig.port.resets(A)).isZero();
    assertThat(rig.events.asked).hasSize(1);
    assertThat(rig.count(IngestCount.ACTIVATIONS)).isEqualTo(1);
  }

  @Test
  void aNewPublisherOfARankStartsAfterTheOldOneIsJoinedAndReset() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 5); // a gap: a recovery of the old source is under way
    IngestRig.ScriptedEvents.Asked old = rig.events.last(A);
    rig.port.holdResets = true;
    rig.with(recoverable(A, Q));
    rig.reconcile();
    rig.jitter();
    assertThat(old.reply()).isCancelled();
    assertThat(rig.events.asked).as("not bound before the reset").hasSize(2);
    old.answer(dumpOf(A, 5, 1, 2, 3, 4, 5));
    rig.live(Q, A, 1);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);

    rig.port.release();
    rig.settle();
    rig.jitter();
    assertThat(rig.port.resets(A)).isEqualTo(1);
    assertThat(rig.blocks(A)).isEmpty();
    rig.live(P, A, 6);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(2);
    assertThat(rig.events.last(A).source().publisherId()).isEqualTo(Q);
    rig.events.last(A).answer(dumpOf(A, 3, 3));
    rig.settle();
    rig.advance(20);
    assertThat(rig.blocks(A)).containsExactly(3L);
    assertThat(rig.cursor(A)).as("a fresh cursor, whatever the old one was").hasValue(3);
  }

  @Test
  void aRankThatComesBackWithANewSourceWaitsForTheOldOnesReset() {
    rig.bringLive(A, P, 2);
    rig.port.holdResets = true;
    rig.without(A, SourceStatus.MISSING);
    rig.reconcile();
    rig.with(liveOnly(A, Q));
    rig.reconcile();
    rig.live(Q, A, 1);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);
    rig.port.release();
    rig.settle();
    rig.live(Q, A, 7);
    assertThat(rig.blocks(A)).containsExactly(7L);
    assertThat(rig.port.resets(A)).isEqualTo(1);
  }

  @Test
  void theFirstActivationOfARankResetsNothing() {
    rig.without(A, SourceStatus.MISSING).start();
    rig.with(liveOnly(A, P));
    rig.reconcile();
    rig.live(P, A, 1);
    assertThat(rig.port.log).containsExactly("admit 1/0 1");
  }

  @Test
  void aResetThatFailsKeepsTheRankOutUntilARetrySucceeds() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 1;
    rig.with(liveOnly(A, Q));
    rig.reconcile();
    assertThat(rig.status(A).resetPending()).isTrue();
    assertThat(rig.status(A).publisherId()).isEmpty();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(rig.status(A).reason()).contains("a reset is pending").contains("no reset");
    rig.live(Q, A, 1);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);

    rig.reconcile();
    assertThat(rig.port.resets(A)).isEqualTo(2);
    assertThat(rig.status(A).resetPending()).isFalse();
    rig.live(Q, A, 7);
    assertThat(rig.blocks(A)).containsExactly(7L);
  }

  @Test
  void aFencedRankIsRepairedByATimerTooAndLessAndLessOften() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 2;
    rig.with(liveOnly(A, Q));
    rig.reconcile();
    rig.advance(99);
    assertThat(rig.port.resets(A)).isEqualTo(1);
    rig.advance(1);
    assertThat(rig.port.resets(A)).isEqualTo(2);
    rig.advance(199);
    assertThat(rig.port.resets(A)).isEqualTo(2);
    rig.advance(1);
    assertThat(rig.status(A).resetPending()).isFalse();
    assertThat(rig.count(IngestCount.REPAIRS)).isEqualTo(2);
    rig.live(Q, A, 7);
    assertThat(rig.blocks(A)).containsExactly(7L);
  }

  @Test
  void aRankThatLeftStaysKnownUntilItIsReset() {
    rig.bringLive(A, P, 2);
    rig.port.failResets = 1;
    rig.ranks.remove(A);
    rig.reconcile();
    assertThat(rig.status(A).resetPending()).isTrue();
    rig.reconcile();
    assertThat(rig.ingest.ranks()).isEmpty();
    assertThat(rig.blocks(A)).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(names = {"AMBIGUOUS", "MISSING", "SUPPRESSED"})
  void aRankWithoutASourceToReadHoldsNothing(SourceStatus status) {
    rig.bringLive(A, P, 2);
    rig.with(liveOnly(B, Q));
    rig.reconcile();
    rig.live(Q, B, 1);
    rig.without(A, status);
    rig.reconcile();
    assertThat(rig.port.resets(A)).isEqualTo(1);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(B)).as("its neighbour goes on").containsExactly(1L);
    assertThat(rig.status(A).source()).isEqualTo(status);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(rig.status(A).reason()).isNotEmpty();
    rig.live(P, A, 3);
    assertThat(rig.count(IngestCount.UNBOUND_BATCHES)).isEqualTo(1);
    rig.reconcile();
    assertThat(rig.port.resets(A)).as("once").isEqualTo(1);
  }

  @Test
  void aBatchThatWaitedWhileItsRankBecameSuppressedIsDropped() {
    rig.bringLive(A, P, 1);
    rig.port.holdAdmissionsOf = A;
    rig.live(P, A, 2);
    rig.live(P, A, 3);
    rig.without(A, SourceStatus.SUPPRESSED);
    rig.reconcile();
    rig.port.release();
    rig.settle();
    assertThat(rig.count(IngestCount.SUPPRESSED_BATCHES)).isEqualTo(1);
    assertThat(rig.port.admitted(A)).containsExactly(2L);
    assertThat(rig.blocks(A)).isEmpty();
  }

  @Test
  void aLateReconcileGoesStraightToTheNewestView() {
    rig.bringLive(A, P, 1);
    rig.port.holdAdmissionsOf = A;
    rig.live(P, A, 2); // the rank waits
    rig.with(liveOnly(A, 13));
    rig.reconcile();
    rig.with(liveOnly(A, 14));
    rig.reconcile();
    rig.port.release();
    rig.settle();
    assertThat(rig.status(A).publisherId()).hasValue(14);
    assertThat(rig.port.resets(A)).isEqualTo(1);
  }

  @Test
  void stoppingResetsEveryRank() {
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 3);
    var stopped = rig.ingest.stop().toCompletableFuture();
    rig.settle();
    assertThat(stopped).isCompleted();
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(B)).isEmpty();
    assertThat(rig.ingest.ranks()).isEmpty();
    assertThat(rig.events.stopped).isEqualTo(1);
    rig.reconcile();
    assertThat(rig.ingest.ranks()).as("it stays stopped").isEmpty();
  }

  @Test
  void stoppingJoinsARecoveryWhoseRebuildIsUnderWay() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.port.holdRebuilds = true;
    rig.events.last(A).answer(dumpOf(A, 1, 1));
    rig.settle();
    assertThat(rig.port.rebuilds).hasSize(1);
    var stopped = rig.ingest.stop().toCompletableFuture();
    rig.settle();
    assertThat(stopped).isNotCompleted();
    rig.port.release();
    rig.settle();
    assertThat(stopped).isCompleted();
    assertThat(rig.blocks(A)).as("reset after the rebuild").isEmpty();
  }

  @Test
  void anotherKvStateEndpointIsAnotherSourceAndAnotherSubscription() {
    rig.bringLive(A, P, 2);
    EndpointId elsewhere = EndpointId.parse("ns.workers.other");
    TreeMap<Member, RankSource> ranks = new TreeMap<>();
    ranks.put(A, RankSource.of(new EventSourceAdvertisement(elsewhere, A, P, null, null)));
    var old = rig.events.listener;
    rig.ingest.reconcile(new EndpointSources(ENDPOINT, elsewhere, ranks));
    rig.settle();
    assertThat(rig.events.followed).containsExactly(ENDPOINT, elsewhere);
    assertThat(rig.events.stopped).isEqualTo(1);
    assertThat(rig.port.resets(A)).isEqualTo(1);
    old.onBatch(new io.kvrelay.api.KvEventBatch(P, java.util.List.of(IngestRig.store(A, 8))));
    rig.settle();
    assertThat(rig.count(IngestCount.STALE_SUBSCRIPTION_CALLS)).isEqualTo(1);
    rig.live(P, A, 9);
    assertThat(rig.blocks(A)).containsExactly(9L);
  }

  @Test
  void withoutAnAgreedKvStateEndpointNothingIsFollowed() {
    rig.bringLive(A, P, 2);
    TreeMap<Member, RankSource> ranks = new TreeMap<>();
    ranks.put(A, RankSource.none(SourceStatus.AMBIGUOUS));
    rig.ingest.reconcile(new EndpointSources(ENDPOINT, null, ranks));
    rig.settle();
    assertThat(rig.events.stopped).isEqualTo(1);
    assertThat(rig.blocks(A)).isEmpty();
  }

  @Test
  void aPublisherMovesToAnotherRankOnceTheFirstLetGo() {
    rig.with(liveOnly(A, P)).start();
    rig.live(P, A, 1);
    rig.without(A, SourceStatus.MISSING);
    rig.with(liveOnly(A1, P));
    rig.port.holdResets = true;
    rig.reconcile();
    rig.port.release();
    rig.settle();
    rig.advance(100);
    rig.live(P, A1, 5);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.blocks(A1)).containsExactly(5L);
  }

  @Test
  void twoRanksUnderOnePublisherAreNotBothRead() {
    rig.with(liveOnly(A, P)).with(liveOnly(B, P)).start();
    assertThat(rig.count(IngestCount.BINDING_CONFLICTS)).isEqualTo(1);
    assertThat(rig.status(B).reason()).contains("publisher 11");
    rig.live(P, A, 1);
    assertThat(rig.blocks(A)).containsExactly(1L);
  }
}
