package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static io.kvrelay.engine.ingest.IngestRig.clear;
import static io.kvrelay.engine.ingest.IngestRig.dumpOf;
import static io.kvrelay.engine.ingest.IngestRig.recoverable;
import static io.kvrelay.engine.ingest.IngestRig.store;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryReply.ResetScope;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Attempts, backoff, permits, and what each answer means. */
class RecoveryFetchTest {
  private static final long P = 11;
  private static final long Q = 12;
  private static final long[] WAITS = {200, 400, 800, 1600, 3200, 6400, 12_800};

  private IngestRig rig = new IngestRig();

  @AfterEach
  void stop() {
    rig.close();
  }

  private void gap() {
    rig.bringLive(A, P, 2);
    rig.live(P, A, 6, 5);
  }

  private void answer(HistoryReply reply) {
    rig.events.last(A).answer(reply);
    rig.settle();
  }

  private void failAll() {
    for (int i = 0; i < 8; i++) {
      rig.events.last(A).fail();
      rig.settle();
      rig.advance(12_800);
    }
  }

  @Test
  void eightAttemptsWithDoublingWaitsAndNoneAfterTheLast() {
    gap();
    for (int k = 0; k < 7; k++) {
      assertThat(rig.events.asked).hasSize(k + 2);
      rig.events.last(A).fail();
      rig.settle();
      rig.advance(WAITS[k] - 1);
      assertThat(rig.events.asked).as("wait %d", WAITS[k]).hasSize(k + 2);
      rig.advance(1);
    }
    rig.events.last(A).fail();
    rig.settle();
    assertThat(rig.status(A).recovering()).as("over at once").isFalse();
    rig.advance(60_000);
    assertThat(rig.events.asked).hasSize(9);
    assertThat(rig.count(IngestCount.FAILED_ATTEMPTS)).isEqualTo(8);
  }

  @Test
  void theDelayBeforeAFullRecoveryIsBelowThreeMilliseconds() {
    rig.close();
    Set<Long> starts = new HashSet<>();
    for (int seed = 0; seed < 40; seed++) {
      rig = new IngestRig(VirtualRuntime.inOrder(seed), 16);
      rig.with(recoverable(A, P)).start();
      long micros = 0;
      while (rig.events.asked.isEmpty()) {
        rig.runtime.advance(java.time.Duration.ofNanos(1000));
        micros++;
        assertThat(micros).isLessThan(3000);
      }
      starts.add(micros);
      if (seed < 39) {
        rig.close();
      }
    }
    assertThat(starts).as("spread").hasSizeGreaterThan(30);
  }

  @Test
  void anAttemptThatTimesOutGivesItsPermitBackBeforeTheBackoff() {
    rig.close();
    rig = new IngestRig(VirtualRuntime.inOrder(1), 1);
    rig.with(recoverable(A, P)).with(recoverable(B, Q)).start();
    rig.jitter();
    assertThat(rig.events.asked).as("one permit").hasSize(1);
    assertThat(rig.permits.waiting()).isEqualTo(1);
    var first = rig.events.asked.get(0);
    rig.advance(30_000);
    assertThat(first.reply()).as("the provider is told").isCancelled();
    assertThat(rig.count(IngestCount.TIMED_OUT_ATTEMPTS)).isEqualTo(1);
    assertThat(rig.events.asked).as("the other one's turn, in the backoff").hasSize(2);
    assertThat(rig.events.asked.get(1).request().member()).isNotEqualTo(first.request().member());
  }

  @Test
  void aDumpThatFailsIsTriedAgainAndALaterOneIsUsed() {
    gap();
    answer(new HistoryReply.TreeDumpFailed(6, "busy"));
    rig.advance(200);
    answer(new HistoryReply.TreeDump(IngestRig.stores(A, 9), 6, ResetScope.PARTIAL));
    rig.advance(400);
    answer(new HistoryReply.Failed("not now"));
    rig.advance(800);
    answer(dumpOf(A, 6, 5, 6));
    rig.advance(10);
    assertThat(rig.blocks(A)).containsExactly(5L, 6L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.EXACT);
    assertThat(rig.count(IngestCount.FAILED_ATTEMPTS)).isEqualTo(3);
  }

  @Test
  void oneFailedDumpAmongFailedAttemptsMakesTheEndNonAuthoritative() {
    gap();
    answer(new HistoryReply.TreeDump(List.of(), 6, ResetScope.PARTIAL));
    rig.advance(200);
    for (int i = 1; i < 8; i++) {
      rig.events.last(A).fail();
      rig.settle();
      rig.advance(12_800);
    }
    assertThat(rig.count(IngestCount.NON_AUTHORITATIVE_RECOVERIES)).isEqualTo(1);
    assertThat(rig.status(A).recovering()).isFalse();
    assertThat(rig.status(A).buffered()).isEqualTo(2);
    assertThat(rig.cursor(A)).hasValue(2);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void withoutAnyAnswerTheBufferedEventsAreAllThereIs() {
    gap();
    failAll();
    assertThat(rig.port.admitted(A)).containsExactly(5L, 6L);
    assertThat(rig.cursor(A)).hasValue(6);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
    assertThat(rig.count(IngestCount.DEGRADED_RECOVERIES)).isEqualTo(1);
    assertThat(rig.count(IngestCount.SKIPPED_IDS)).isEqualTo(2);
    rig.live(P, A, 7);
    assertThat(rig.cursor(A)).hasValue(7);
  }

  static List<HistoryReply> finalAnswers() {
    return List.of(new HistoryReply.TooNew(3, 1, 1), new HistoryReply.InvalidRange(3, 1));
  }

  @ParameterizedTest
  @MethodSource("finalAnswers")
  void aFinalAnswerWithoutHistoryDegradesAtOnce(HistoryReply reply) {
    gap();
    answer(reply);
    assertThat(rig.events.asked).hasSize(2);
    assertThat(rig.port.admitted(A)).containsExactly(5L, 6L);
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void anErrorIsAFailedAttemptAndAskedAgain() {
    gap();
    answer(new HistoryReply.Failed("no"));
    assertThat(rig.status(A).recovering()).isTrue();
    rig.advance(200);
    assertThat(rig.events.asked).hasSize(3);
    for (int i = 1; i < 8; i++) {
      answer(new HistoryReply.Failed("no"));
      rig.advance(12_800);
    }
    assertThat(rig.count(IngestCount.DEGRADED_RECOVERIES)).isEqualTo(1);
    assertThat(rig.status(A).recovering()).isFalse();
  }

  @Test
  void aProviderThatThrowsIsAFailedAttempt() {
    rig.bringLive(A, P, 2);
    rig.events.refuse = true;
    rig.live(P, A, 5);
    assertThat(rig.count(IngestCount.FAILED_ATTEMPTS)).isEqualTo(1);
    rig.events.refuse = false;
    rig.advance(200);
    answer(IngestRig.history(A, 5, 3, 4, 5));
    assertThat(rig.cursor(A)).hasValue(5);
  }

  @Test
  void anAnswerAfterItsAttemptHasEndedIsIgnored() {
    rig.events.uncancellable = true;
    gap();
    var late = rig.events.last(A);
    rig.advance(30_000 + 200);
    assertThat(rig.events.asked).hasSize(3);
    late.answer(dumpOf(A, 6, 9));
    rig.settle();
    assertThat(rig.count(IngestCount.LATE_REPLIES)).isEqualTo(1);
    rig.events.last(A).answer(IngestRig.history(A, 6, 3, 4, 5, 6));
    rig.settle();
    assertThat(rig.port.admitted(A)).containsExactly(3L, 4L, 5L, 6L);
  }

  @Test
  void afterANonAuthoritativeEndTheNextEventOfAnInitialRankStartsAnotherFullRecovery() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    rig.live(P, A, 4);
    for (int i = 0; i < 8; i++) {
      answer(new HistoryReply.TreeDumpFailed(4, "no memory"));
      rig.advance(12_800);
    }
    assertThat(rig.status(A).recovering()).isFalse();
    rig.live(P, A, 5);
    rig.jitter();
    assertThat(rig.events.asked).hasSize(9);
    assertThat(rig.events.last(A).request().start()).isEmpty();
    answer(dumpOf(A, 3, 3));
    rig.advance(30_000); // the first wave still waits for it
    assertThat(rig.blocks(A)).containsExactly(3L, 4L, 5L);
  }

  @Test
  void afterADegradedEndWithNothingBufferedTheNextEventStartsAFullRecovery() {
    rig.with(recoverable(A, P)).start();
    rig.jitter();
    failAll();
    assertThat(rig.cursor(A)).isEmpty();
    rig.live(P, A, 5);
    rig.jitter();
    assertThat(rig.events.asked).hasSize(9);
    assertThat(rig.status(A).recovering()).isTrue();
  }

  @Test
  void aCancelledFetchHasNoEffectWhereverItWas() {
    rig.close();
    rig = new IngestRig(VirtualRuntime.inOrder(1), 1);
    rig.bringLive(A, P, 2);
    rig.bringLive(B, Q, 2);

    rig.live(P, A, 5); // asks, and holds the permit
    rig.live(Q, B, 5); // waits for the permit
    rig.live(Q, clear(B, 6, ResidencyDomain.MISSING)); // cancelled while it waits
    assertThat(rig.permits.waiting()).isZero();
    rig.events.last(A).fail(); // A's backoff
    rig.settle();
    rig.live(P, clear(A, 6, ResidencyDomain.MISSING)); // cancelled in its backoff
    rig.advance(60_000);
    assertThat(rig.events.asked).hasSize(3);
    rig.live(P, A, 9); // asks
    var asked = rig.events.last(A);
    rig.live(P, clear(A, 10, ResidencyDomain.MISSING)); // cancelled while it asks
    asked.answer(dumpOf(A, 9, 9));
    rig.advance(60_000);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.cursor(A)).hasValue(10);
    assertThat(rig.cursor(B)).hasValue(6);
    assertThat(rig.permits.free()).isEqualTo(1);
    assertThat(rig.count(IngestCount.CANCELLED_RECOVERIES)).isEqualTo(3);
  }

  @Test
  void noMoreRequestsThanPermitsAreUnderWay() {
    rig.close();
    rig = new IngestRig(VirtualRuntime.shuffling(5), 3);
    List<io.kvrelay.api.Member> members = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      io.kvrelay.api.Member member = new io.kvrelay.api.Member(100 + i, 0);
      members.add(member);
      rig.with(recoverable(member, 1000 + i));
    }
    rig.start();
    rig.jitter();
    int answered = 0;
    while (answered < members.size()) {
      List<IngestRig.ScriptedEvents.Asked> open =
          rig.events.asked.stream().filter(each -> !each.reply().isDone()).toList();
      assertThat(open).isNotEmpty().hasSizeLessThanOrEqualTo(3);
      KvEvent block = store(open.get(0).request().member(), 1);
      open.get(0).answer(IngestRig.dump(1, block));
      answered++;
      rig.settle();
    }
    assertThat(members).allSatisfy(member -> assertThat(rig.blocks(member)).containsExactly(1L));
    assertThat(rig.port.rebuilds).as("one wave, one rebuild").hasSize(1);
  }
}
