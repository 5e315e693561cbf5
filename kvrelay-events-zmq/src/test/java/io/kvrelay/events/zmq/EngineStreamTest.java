package io.kvrelay.events.zmq;

import static io.kvrelay.events.zmq.Pack.list;
import static io.kvrelay.events.zmq.Pack.tokens;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import io.kvrelay.testkit.engine.ReplayLayout;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Sequence, gap, restart: what each situation on the live socket and in a replay leads to. */
class EngineStreamTest {
  private final EngineSimulator engine = simulator(EngineWire.VLLM_MAPS).build();

  private static EngineSimulator.Builder simulator(EngineWire wire) {
    return EngineSimulator.builder(wire).blockSize(StreamHarness.BLOCK);
  }

  private static Object store(int hash, int... parent) {
    Object before = parent.length == 0 ? null : (Object) parent[0];
    return list("BlockStored", list(hash), before, tokens(hash, hash + 4), 4, null);
  }

  /** A prompt of whole blocks that shares nothing with prompts of other seeds. */
  private static int[] prompt(int seed, int blocks) {
    int[] tokens = new int[blocks * StreamHarness.BLOCK];
    Arrays.setAll(tokens, i -> seed * 10_000 + i);
    return tokens;
  }

  private void request(StreamHarness harness, int seed, int blocks) {
    engine.request(prompt(seed, blocks));
    harness.step(engine);
  }

  private void assertExact(StreamHarness harness) {
    assertThat(harness.relay.sequenceHashes()).isEqualTo(StreamHarness.truth(engine));
    assertThat(harness.trust).as(harness.reason).isEqualTo(SourceTrust.EXACT);
  }

  // ---- joining

  @Test
  void nothingIsKnownBeforeTheConnectionStands() {
    StreamHarness harness = StreamHarness.withoutReplay();
    assertThat(harness.stream.trust()).isEqualTo(SourceTrust.UNKNOWN);
    harness.stream.onConnected();
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(harness.reason).contains("nothing heard");
    harness.live(0, store(1));
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aFirstMessageWithSequenceZeroIsAFreshPublisher() {
    StreamHarness harness = StreamHarness.withoutReplay();
    request(harness, 1, 3);
    assertExact(harness);
  }

  @Test
  void joiningLateWithoutReplayIsDegradedAndSaysWhy() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(5, store(1));
    assertThat(harness.relay.engineHashes()).containsExactly(1L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).isEqualTo("joined at sequence 5, and there is no replay");
  }

  @Test
  void joiningLateWithReplayIsExactWithoutWaitingForALiveMessage() {
    StreamHarness harness = StreamHarness.withReplay();
    for (int i = 0; i < 5; i++) {
      engine.request(prompt(i, 4));
      engine.step();
    }
    harness.stream.onConnected();
    assertThat(harness.replayFrom()).isZero();
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    harness.pump(engine);
    assertExact(harness);
    request(harness, 9, 2);
    assertExact(harness);
  }

  @Test
  void liveMessagesDuringAReplayAreHeldAndTheOverlapIsDropped() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.stream.onConnected();
    for (int i = 0; i < 5; i++) {
      request(harness, i, 4);
    }
    assertThat(harness.stream.heldBatches()).isEqualTo(5);
    assertThat(harness.relay.seen()).isEmpty();
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.count(Counter.DUPLICATES)).isEqualTo(5);
    assertThat(harness.count(Counter.RESTARTS_SEQUENCE)).isZero();
  }

  @Test
  void aLiveMessageThatTheReplayBroughtAlreadyIsADuplicate() {
    StreamHarness harness = StreamHarness.withReplay();
    engine.request(prompt(1, 2));
    byte[][] zero = engine.step();
    engine.request(prompt(2, 2));
    byte[][] one = engine.step();
    harness.fresh(engine);
    harness.deliver(List.of(zero, one));
    assertExact(harness);
    assertThat(harness.count(Counter.DUPLICATES)).isEqualTo(2);
  }

  @Test
  void aLiveMessageWithASequenceThatTheReplayBroughtOtherwiseIsARestart() {
    StreamHarness harness = StreamHarness.withReplay();
    engine.request(prompt(1, 2));
    engine.step();
    engine.request(prompt(2, 2));
    engine.step();
    harness.fresh(engine);
    engine.restart();
    request(harness, 3, 2);
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.count(Counter.RESTARTS_SEQUENCE)).isEqualTo(1);
  }

  // ---- gaps

  @Test
  void aGapIsReplayedFromTheExpectedSequence() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 3);
    harness.faults.dropNext(2);
    request(harness, 2, 3);
    request(harness, 3, 3);
    request(harness, 4, 3);
    assertThat(harness.requests).containsExactly(0L, 1L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.relay.seen()).hasSize(1);
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.count(Counter.GAPS)).isEqualTo(1);
    assertThat(harness.count(Counter.BATCHES_MISSED)).isEqualTo(2);
    assertThat(harness.relay.clears()).isZero();
  }

  @Test
  void bothReplayLayoutsAreToldApartForEachReply() {
    for (ReplayLayout layout : ReplayLayout.values()) {
      EngineSimulator other =
          simulator(EngineWire.VLLM_ARRAYS).topic("kv@pod").replayLayout(layout).build();
      StreamHarness harness = StreamHarness.withReplay();
      other.request(prompt(1, 3));
      other.step();
      harness.fresh(other);
      assertThat(harness.relay.sequenceHashes()).isEqualTo(StreamHarness.truth(other));
      assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
    }
  }

  @Test
  void aGapWithoutReplayResetsTheMember() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, store(1));
    harness.live(2, store(2), store(3, 1));
    assertThat(harness.relay.engineHashes()).containsExactly(2L);
    assertThat(harness.relay.clears()).isEqualTo(1);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).isEqualTo("sequence 1 is missing, and there is no replay");
    assertThat(harness.count(Counter.RESETS)).isEqualTo(1);
    harness.live(3, list("AllBlocksCleared"), store(4));
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aWrappedBufferResetsRebuildsAndIsNotAskedAgain() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 3);
    harness.faults.dropping(true);
    request(harness, 2, 3);
    request(harness, 3, 3);
    harness.faults.dropping(false).truncateReplays(2);
    request(harness, 4, 3);
    harness.pump(engine);
    assertThat(harness.requests).containsExactly(0L, 1L);
    assertThat(harness.count(Counter.REPLAYS_TRUNCATED)).isEqualTo(1);
    assertThat(harness.relay.clears()).isEqualTo(1);
    assertThat(harness.relay.sequenceHashes()).hasSize(6);
    assertThat(StreamHarness.truth(engine)).containsAll(harness.relay.sequenceHashes());
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).contains("has sequence 2 where 1 was needed");
    engine.clear();
    request(harness, 5, 2);
    assertExact(harness);
  }

  @Test
  void joiningAWrappedBufferConvergesWithOneReplay() {
    EngineSimulator small = simulator(EngineWire.VLLM_MAPS).bufferSteps(2).build();
    for (int i = 0; i < 6; i++) {
      small.request(prompt(i, 2));
      small.step();
    }
    StreamHarness harness = StreamHarness.withReplay().fresh(small);
    assertThat(harness.requests).containsExactly(0L);
    assertThat(harness.relay.sequenceHashes()).hasSize(4);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aSequenceThatWasNeverSentIsUnfillable() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 2);
    engine.skipSequence();
    request(harness, 2, 2);
    harness.pump(engine);
    assertThat(harness.requests).containsExactly(0L, 1L);
    assertThat(harness.relay.clears()).isEqualTo(1);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    request(harness, 3, 2);
    assertThat(harness.requests).hasSize(2);
  }

  @Test
  void aReplayThatDoesNotReachTheGapIsFollowedByOneMoreAndThenByAReset() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    harness.live(0, store(1));
    harness.live(5, store(5));
    harness.reply(new byte[0], Pack.sequence(1), Pack.batch(store(2)));
    harness.replyEnd();
    assertThat(harness.requests).containsExactly(0L, 1L, 2L);
    harness.replyEnd();
    assertThat(harness.requests).hasSize(3);
    assertThat(harness.relay.engineHashes()).containsExactly(5L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aPartialReplayIsResumedFromWhereItStopped() {
    StreamHarness harness = StreamHarness.withReplay();
    for (int i = 0; i < 6; i++) {
      engine.request(prompt(i, 2));
      engine.step();
    }
    harness.faults.cutNextReplayAfter(4);
    harness.fresh(engine);
    assertThat(harness.requests).containsExactly(0L, 4L);
    assertExact(harness);
    assertThat(harness.relay.clears()).isZero();
    assertThat(harness.count(Counter.REPLAYS_TIMED_OUT)).isEqualTo(1);
  }

  @Test
  void aTruncatedReplayThatIsResumedStaysIncomplete() {
    StreamHarness harness = StreamHarness.withReplay();
    for (int i = 0; i < 6; i++) {
      engine.request(prompt(i, 2));
      engine.step();
    }
    harness.faults.truncateReplays(2).cutNextReplayAfter(2);
    harness.fresh(engine);
    assertThat(harness.requests).containsExactly(0L, 4L);
    assertThat(harness.relay.sequenceHashes()).hasSize(8);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).contains("has sequence 2 where 0 was needed");
  }

  @Test
  void replaysWithoutAnEndMarkAreAskedAgainAndThenGivenUp() {
    StreamHarness harness = StreamHarness.withReplay();
    for (int i = 0; i < 3; i++) {
      engine.request(prompt(i, 2));
      engine.step();
    }
    harness.faults.loseEndMarks(true);
    harness.fresh(engine);
    assertThat(harness.requests).containsExactly(0L, 3L, 3L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).isEqualTo("the replay socket at tcp://engine:5657 does not answer");
    harness.faults.loseEndMarks(false);
    request(harness, 7, 2);
    assertThat(harness.relay.sequenceHashes()).hasSize(2);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aSilentReplaySocketIsGivenUpAndWhatWasHeldIsApplied() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.faults.loseReplays(true);
    harness.stream.onConnected();
    harness.live(4, store(1));
    harness.live(5, store(2, 1));
    harness.pump(engine);
    assertThat(harness.requests).containsExactly(0L, 0L, 0L);
    assertThat(harness.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    harness.live(7, store(9));
    assertThat(harness.requests).as("one attempt while the socket is known to be dead").hasSize(4);
    harness.pump(engine);
    assertThat(harness.requests).hasSize(4);
    assertThat(harness.relay.engineHashes()).containsExactly(9L);
  }

  @Test
  void aReplaySocketThatComesBackMakesTheStateWhole() {
    StreamHarness harness = StreamHarness.withReplay();
    for (int i = 0; i < 3; i++) {
      engine.request(prompt(i, 2));
      engine.step();
    }
    harness.faults.loseReplays(true);
    harness.fresh(engine);
    request(harness, 5, 2);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    harness.faults.loseReplays(false);
    for (int i = 0; i < 31; i++) {
      harness.stream.onTick(0);
      harness.pump(engine);
    }
    assertExact(harness);
  }

  @Test
  void whatWasSentBeforeTheSubscriptionTookEffectIsAskedForOnce() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    engine.request(prompt(1, 2));
    engine.step();
    for (int i = 0; i < 5; i++) {
      harness.stream.onTick(0);
      harness.pump(engine);
    }
    assertThat(harness.requests).containsExactly(0L, 0L);
    assertExact(harness);
    assertThat(harness.trusts).containsExactly(SourceTrust.DEGRADED, SourceTrust.EXACT);
  }

  @Test
  void whatWasLostWhileAConfirmationRanIsAskedForAndNothingIsThrownAway() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 3);
    harness.stream.onTick(0);
    harness.stream.onTick(0);
    assertThat(harness.requests).containsExactly(0L, 1L);
    harness.faults.dropNext(2);
    request(harness, 2, 3);
    request(harness, 3, 3);
    request(harness, 4, 3);
    // The engine answered before it had anything new to say.
    harness.replyEnd();
    assertThat(harness.requests).containsExactly(0L, 1L, 1L);
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.relay.clears()).isZero();
    assertThat(harness.count(Counter.REPLAYS_TRUNCATED)).isZero();
  }

  @Test
  void whatAConfirmationMissedAndASecondReplayDoesNotBringEitherIsGone() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 3);
    harness.stream.onTick(0);
    harness.stream.onTick(0);
    harness.faults.dropNext(1);
    request(harness, 2, 3);
    request(harness, 3, 3);
    harness.replyEnd();
    harness.replyEnd();
    assertThat(harness.requests).containsExactly(0L, 1L, 1L);
    assertThat(harness.reason).contains("sequence 1 is missing");
    assertThat(harness.relay.clears()).isEqualTo(1);
    assertThat(harness.count(Counter.REPLAYS_TRUNCATED)).isEqualTo(1);
  }

  @Test
  void whatWasLostWhileAnEmptyBootstrapWasOnItsWayIsAskedForToo() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.stream.onConnected();
    harness.faults.dropNext(1);
    request(harness, 1, 3);
    request(harness, 2, 3);
    harness.replyEnd();
    assertThat(harness.requests).containsExactly(0L, 0L);
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.relay.clears()).isZero();
  }

  @Test
  void aMalformedReplyEndsTheAttempt() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.stream.onConnected();
    harness.reply(new byte[0], Pack.sequence(0));
    harness.reply(new byte[1], Pack.sequence(0), Pack.batch());
    harness.reply(new byte[0], new byte[3], Pack.batch());
    assertThat(harness.count(Counter.REPLAYS_MALFORMED)).isEqualTo(3);
    assertThat(harness.requests).hasSize(3);
    assertThat(harness.isReplayWanted()).isFalse();
  }

  @Test
  void repliesToAnOlderRequestAreIgnored() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.stream.onConnected();
    harness.stream.onReplay(0, new byte[][] {{}, Pack.sequence(0), Pack.batch(store(1))}, 0);
    harness.stream.onReplayFailed(0, 0);
    assertThat(harness.relay.seen()).isEmpty();
    assertThat(harness.requests).hasSize(1);
  }

  @Test
  void moreHeldBatchesThanTheBoundAreAGapAfterTheReplay() {
    StreamHarness harness =
        new StreamHarness(s -> s.replayAddress("tcp://engine:5657").heldBatches(2));
    harness.stream.onConnected();
    EngineSimulator before = engine;
    harness.replyEnd();
    for (int i = 0; i < 3; i++) {
      request(harness, i, 2);
    }
    harness.faults.dropNext(1);
    for (int i = 3; i < 9; i++) {
      request(harness, i, 2);
    }
    assertThat(harness.stream.heldBatches()).isEqualTo(2);
    assertThat(harness.count(Counter.QUEUE_OVERFLOWS)).isEqualTo(3);
    harness.pump(before);
    request(harness, 9, 2);
    harness.pump(before);
    assertExact(harness);
  }

  @Test
  void whatFoundNoRoomIsAskedForAlsoWhenTheEngineFallsIdle() {
    StreamHarness harness =
        new StreamHarness(s -> s.replayAddress("tcp://engine:5657").heldBatches(2));
    harness.stream.onConnected();
    for (int i = 0; i < 5; i++) {
      request(harness, i, 2);
    }
    assertThat(harness.count(Counter.QUEUE_OVERFLOWS)).isEqualTo(3);
    harness.replyEnd();
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.count(Counter.GAPS)).isEqualTo(1);
  }

  @Test
  void whatFoundNoRoomAndIsNotReplayedEitherResetsTheMember() {
    StreamHarness harness =
        new StreamHarness(s -> s.replayAddress("tcp://engine:5657").heldBatches(2));
    harness.stream.onConnected();
    for (int i = 0; i < 5; i++) {
      request(harness, i, 2);
    }
    harness.replyEnd();
    harness.replyEnd();
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).contains("sequence 2 found no room");
    assertThat(harness.relay.sequenceHashes()).isEmpty();
    assertThat(harness.requests).as("asked once more, not for ever").hasSize(2);
    request(harness, 5, 1);
    assertThat(harness.relay.sequenceHashes()).hasSize(1);
  }

  @Test
  void aFloodOfDuplicatesDoesNotGetAReplayOn() {
    StreamHarness harness = StreamHarness.withReplay();
    harness.stream.onConnected();
    byte[] batch = Pack.batch(store(1));
    assertThat(harness.reply(new byte[0], Pack.sequence(0), batch)).isTrue();
    assertThat(harness.reply(new byte[0], Pack.sequence(0), batch)).isFalse();
    assertThat(harness.reply(new byte[0], Pack.sequence(1), batch)).isTrue();
    assertThat(harness.count(Counter.DUPLICATES)).isEqualTo(1);
  }

  // ---- restarts

  @Test
  void aLowerSequenceIsARestartAndClearsBeforeItApplies() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, store(1));
    harness.live(1, store(2));
    harness.live(0, store(3));
    assertThat(harness.relay.engineHashes()).containsExactly(3L);
    List<KvEvent> seen = harness.relay.seen();
    assertThat(seen.get(seen.size() - 2).kind()).isEqualTo(KvEvent.Kind.CLEARED);
    assertThat(harness.count(Counter.RESTARTS_SEQUENCE)).isEqualTo(1);
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void anEqualSequenceIsARestartToo() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, store(1));
    harness.live(0, store(2));
    assertThat(harness.relay.engineHashes()).containsExactly(2L);
  }

  @Test
  void aRestartSeenLateIsReplayedFromItsBeginning() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    for (int i = 0; i < 5; i++) {
      request(harness, i, 2);
    }
    engine.restart();
    harness.faults.dropNext(2);
    for (int i = 10; i < 13; i++) {
      request(harness, i, 2);
    }
    assertThat(harness.relay.sequenceHashes()).as("cleared at once").isEmpty();
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.relay.clears()).isEqualTo(1);
  }

  @Test
  void aRestartDuringAReplayVoidsIt() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 2);
    request(harness, 2, 2);
    harness.faults.dropNext(1);
    request(harness, 3, 2);
    request(harness, 4, 2);
    assertThat(harness.isReplayWanted()).isTrue();
    engine.restart();
    request(harness, 5, 2);
    assertThat(harness.isReplayWanted()).isFalse();
    assertExact(harness);
  }

  @Test
  void anotherIdentityIsARestartWhateverTheSequence() {
    EngineSimulator named = simulator(EngineWire.VLLM_MAPS).namesItself(true).build();
    StreamHarness harness = StreamHarness.withoutReplay();
    named.request(prompt(1, 2));
    harness.step(named);
    named.restart();
    named.skipSequence();
    named.request(prompt(2, 2));
    harness.step(named);
    assertThat(harness.relay.sequenceHashes()).isEqualTo(StreamHarness.truth(named));
    assertThat(harness.count(Counter.RESTARTS_IDENTITY)).isEqualTo(1);
    assertThat(harness.trust).as("joined late").isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void sequenceFramesMayHaveMoreThanEightBytes() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.deliver(
        List.of(
            new byte[][] {{}, Arrays.copyOf(Pack.sequence(0), 12), Pack.batch(store(1))},
            new byte[][] {{}, Pack.sequence(1, 5), Pack.batch(store(2))},
            new byte[][] {{}, Arrays.copyOf(Pack.sequence(2, 5), 40), Pack.batch(store(3))}));
    assertThat(harness.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  // ---- reconnects

  @Test
  void theSameProcessAfterAReconnectKeepsItsState() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    request(harness, 1, 2);
    harness.stream.onDisconnected();
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
    harness.faults.dropping(true);
    request(harness, 2, 2);
    harness.faults.dropping(false);
    harness.stream.onConnected();
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(harness.replayFrom()).as("the last batch proves it").isZero();
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.relay.clears()).isZero();
  }

  @Test
  void anotherProcessThatIsPastTheOldSequenceIsFoundOut() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    for (int i = 0; i < 4; i++) {
      request(harness, i, 2);
    }
    harness.stream.onDisconnected();
    engine.restart();
    for (int i = 10; i < 17; i++) {
      engine.request(prompt(i, 2));
      engine.step();
    }
    harness.stream.onConnected();
    request(harness, 20, 2);
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.requests).containsExactly(0L, 3L, 0L);
    assertThat(harness.count(Counter.RESTARTS_RECONNECT)).isEqualTo(1);
  }

  @Test
  void anotherProcessThatIsBehindTheOldSequenceIsFoundOutWithoutALiveMessage() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    for (int i = 0; i < 4; i++) {
      request(harness, i, 2);
    }
    harness.stream.onDisconnected();
    engine.restart();
    harness.stream.onConnected();
    harness.pump(engine);
    assertExact(harness);
    assertThat(harness.relay.sequenceHashes()).isEmpty();
  }

  @Test
  void aReconnectThatCannotBeProvedClearsAndRebuilds() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    for (int i = 0; i < 4; i++) {
      request(harness, i, 2);
    }
    harness.stream.onDisconnected();
    harness.faults.dropping(true).truncateReplays(5);
    for (int i = 4; i < 8; i++) {
      request(harness, i, 2);
    }
    harness.faults.dropping(false);
    harness.stream.onConnected();
    harness.pump(engine);
    assertThat(harness.relay.clears()).isEqualTo(1);
    assertThat(harness.relay.sequenceHashes()).hasSize(6);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void withoutReplayAndIdentityAReconnectClears() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.stream.onConnected();
    harness.live(0, store(1));
    harness.stream.onDisconnected();
    harness.stream.onConnected();
    assertThat(harness.relay.engineHashes()).isEmpty();
    assertThat(harness.count(Counter.RESTARTS_RECONNECT)).isEqualTo(1);
    harness.live(1, store(2));
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void withoutReplayAnIdentityProvesAReconnect() {
    EngineSimulator named = simulator(EngineWire.VLLM_MAPS).namesItself(true).build();
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.stream.onConnected();
    named.request(prompt(1, 2));
    harness.step(named);
    harness.stream.onDisconnected();
    harness.stream.onConnected();
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
    named.request(prompt(2, 2));
    harness.step(named);
    assertThat(harness.relay.sequenceHashes()).isEqualTo(StreamHarness.truth(named));
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
    assertThat(harness.relay.clears()).isZero();
  }

  // ---- two publishers

  @Test
  void twoPublishersOnOneAddressAreAmbiguousAndNothingOfThemIsBelieved() {
    StreamHarness harness = StreamHarness.withoutReplay();
    for (int i = 0; i < 4; i++) {
      harness.live(100 + i, store(10 + i));
      harness.live(i, store(50 + i));
    }
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(harness.reason).isEqualTo("two publishers answer as one at tcp://engine:5557");
    assertThat(harness.relay.engineHashes()).isEmpty();
    assertThat(harness.count(Refusal.TWO_PUBLISHERS)).isPositive();
    harness.now = EngineStream.AMBIGUOUS_NANOS;
    harness.stream.onTick(harness.now);
    harness.live(0, store(1));
    assertThat(harness.relay.engineHashes()).containsExactly(1L);
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void twoTopicsOnOneAddressAreTwoPublishersUnlessOneIsSelected() {
    StreamHarness harness = StreamHarness.withoutReplay();
    for (int i = 0; i < 3; i++) {
      harness.deliver(
          List.of(
              new byte[][] {{'a'}, Pack.sequence(i), Pack.batch()},
              new byte[][] {{'b'}, Pack.sequence(i), Pack.batch()}));
    }
    assertThat(harness.trust).isEqualTo(SourceTrust.UNKNOWN);
  }

  // ---- messages that cannot be taken

  @Test
  void aMessageWithWrongFramesIsRefusedAndItsSequenceCounts() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, store(1));
    harness.deliver(
        List.of(
            new byte[][] {{}},
            new byte[][] {{}, new byte[7], Pack.batch()},
            new byte[][] {{}, Pack.sequence(1), Pack.batch(), {}}));
    harness.live(2, store(2));
    assertThat(harness.count(Refusal.FRAME_COUNT)).isEqualTo(2);
    assertThat(harness.count(Refusal.SEQUENCE_LENGTH)).isEqualTo(1);
    assertThat(harness.count(Counter.GAPS)).isZero();
    assertThat(harness.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(harness.reason).isEqualTo("a batch was refused: message.frame_count");
  }

  @Test
  void anUndecodableBatchCausesNoGapAndNoReconnect() {
    StreamHarness harness = StreamHarness.withReplay().fresh(engine);
    harness.live(0, store(1));
    harness.live(1, new byte[] {(byte) 0xC1});
    harness.live(2, store(2));
    assertThat(harness.count(Refusal.NOT_MSGPACK)).isEqualTo(1);
    assertThat(harness.requests).hasSize(1);
    assertThat(harness.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(harness.trust).isEqualTo(SourceTrust.DEGRADED);
  }

  @Test
  void aBatchOfAnotherRankIsRefusedByName() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, Pack.bytes(list(1.0, list(store(1)), 3)));
    assertThat(harness.relay.seen()).isEmpty();
    assertThat(harness.reason)
        .isEqualTo("batches of rank 3 arrive at tcp://engine:5557, which is rank 0");
    StreamHarness lenient = new StreamHarness(s -> s.engine(EngineKind.SGLANG));
    lenient.live(0, Pack.bytes(list(1.0, list(store(1)), 3)));
    assertThat(lenient.relay.engineHashes()).containsExactly(1L);
    assertThat(lenient.relay.seen().get(0).member()).isEqualTo(StreamHarness.MEMBER);
  }

  @Test
  void theFormMayChangeFromOneBatchToTheNext() {
    StreamHarness harness = StreamHarness.withoutReplay();
    long sequence = 0;
    for (EngineWire wire : EngineWire.values()) {
      EngineSimulator one = simulator(wire).build();
      one.request(prompt((int) sequence + 1, 2));
      harness.live(sequence++, one.step()[2]);
    }
    assertThat(harness.relay.sequenceHashes()).hasSize(2 * EngineWire.values().length);
    assertThat(harness.trust).isEqualTo(SourceTrust.EXACT);
  }

  // ---- history

  @Test
  void historyIsAnsweredWithEventsWhileTheyAreHeldAndWithTheStateOtherwise() {
    StreamHarness harness = new StreamHarness(s -> s.historyEvents(3));
    for (int i = 0; i < 5; i++) {
      harness.live(i, i == 0 ? store(1) : store(i + 1, i));
    }
    HistoryRequest from = HistoryRequest.from(StreamHarness.MEMBER, 3);
    HistoryReply.Events events = (HistoryReply.Events) harness.stream.history(from);
    assertThat(events.last()).isEqualTo(5);
    assertThat(events.events()).extracting(KvEvent::eventId).containsExactly(3L, 4L, 5L);
    HistoryReply older = harness.stream.history(HistoryRequest.from(StreamHarness.MEMBER, 2));
    assertThat(older).isInstanceOf(HistoryReply.TreeDump.class);
    assertThat(harness.stream.history(HistoryRequest.from(StreamHarness.MEMBER, 6)))
        .isEqualTo(new HistoryReply.TooNew(6, 5, 5));
    assertThat(
            harness.stream.history(
                new HistoryRequest(StreamHarness.MEMBER, OptionalLong.of(4), OptionalLong.of(3))))
        .isEqualTo(new HistoryReply.InvalidRange(4, 3));
  }

  @Test
  void aDumpLeadsToTheSameStateAlsoWithoutTheParentsThatAreGone() {
    StreamHarness harness = StreamHarness.withoutReplay();
    harness.live(0, list("BlockStored", list(1, 2, 3), null, tokens(1, 13), 4, null));
    harness.live(1, list("BlockRemoved", list(1)));
    HistoryReply.TreeDump dump =
        (HistoryReply.TreeDump) harness.stream.history(HistoryRequest.full(StreamHarness.MEMBER));
    assertThat(dump.scope()).isEqualTo(HistoryReply.ResetScope.ALL);
    RelayModel other = new RelayModel();
    other.replace(dump.events(), dump.last());
    assertThat(other.sequenceHashes()).isEqualTo(harness.relay.sequenceHashes()).hasSize(2);
    assertThat(other.lastId()).isEqualTo(harness.relay.lastId());
  }

  @Test
  void beforeAnythingWasSaidHistoryIsAnEmptyDump() {
    StreamHarness harness = StreamHarness.withoutReplay();
    HistoryReply full = harness.stream.history(HistoryRequest.full(StreamHarness.MEMBER));
    assertThat(full)
        .isEqualTo(new HistoryReply.TreeDump(List.of(), 0, HistoryReply.ResetScope.ALL));
    assertThat(harness.stream.history(HistoryRequest.from(StreamHarness.MEMBER, 1)))
        .isEqualTo(full);
  }
}
