package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.testkit.sim.FaultyEventSource;
import io.kvrelay.testkit.sim.HistoryFault;
import io.kvrelay.testkit.sim.LiveFault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Each fault of the test kit does what it says, once for each time it was asked for. */
class FaultyEventSourceTest {
  private static final EndpointId E = new EndpointId("prod", "m", "generate");
  private static final Member A = new Member(1, 0);

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final InMemoryEventSource target = new InMemoryEventSource(time, 8);
  private final FaultyEventSource events = new FaultyEventSource(target, time);
  private final InMemoryEventSource.Rank rank = target.start(E, A, true);
  private final long publisher = rank.advertisement().publisherId();
  private final List<String> heard = new ArrayList<>();
  private final KvEventSource.Following following =
      events.follow(
          E,
          new KvEventListener() {
            @Override
            public void onBatch(KvEventBatch batch) {
              KvEvent first = batch.events().get(0);
              String who = batch.publisherId() == publisher ? "" : "stranger ";
              heard.add(who + (first.member().equals(A) ? "" : "foreign ") + first.eventId());
            }

            @Override
            public void onDiscontinuity(long publisherId, String reason) {
              heard.add("break: " + reason);
            }

            @Override
            public void onTrust(long publisherId, SourceTrust trust, String reason) {
              heard.add(trust + ": " + reason);
            }

            @Override
            public void onFailure(RelayException error) {
              heard.add("end: " + error.getMessage());
            }
          });

  private void send(int events) {
    for (int i = 0; i < events; i++) {
      long id = rank.nextEventId();
      rank.store(new long[] {100 + id}, new long[] {id});
    }
  }

  @Test
  void batchesAreLostDuplicatedAndReorderedAsOftenAsAskedFor() {
    events.next(LiveFault.LOSE, 1);
    events.next(LiveFault.DUPLICATE, publisher, 1);
    events.next(LiveFault.REORDER, publisher, 1);
    send(5);
    assertThat(heard).as("the publisher's own come first").containsExactly("1", "1", "3", "2", "5");
    assertThat(events.injected(LiveFault.LOSE)).isEqualTo(1);
    assertThat(events.injected(LiveFault.DUPLICATE)).isEqualTo(1);
    assertThat(events.injected(LiveFault.REORDER)).isEqualTo(1);
  }

  @Test
  void strangersSpeakBeforeTheTruth() {
    events.next(LiveFault.FOREIGN_RANK, 1);
    events.next(LiveFault.UNKNOWN_PUBLISHER, 1);
    send(3);
    assertThat(heard).containsExactly("foreign 1", "1", "stranger 2", "2", "3");
  }

  @Test
  void lateBatchesStayInOrderAndHealingDeliversWhatWaits() {
    events.delayLive(Duration.ofMillis(10));
    send(2);
    events.delayLive(Duration.ZERO);
    send(1);
    assertThat(heard).isEmpty();
    time.advance(Duration.ofMillis(10));
    assertThat(heard).containsExactly("1", "2", "3");

    events.next(LiveFault.REORDER, 1);
    events.delayLive(Duration.ofMillis(10));
    send(1);
    events.heal();
    assertThat(heard).containsExactly("1", "2", "3", "4");
  }

  @Test
  void aBrokenStreamLosesWhatWasUnderWay() {
    events.next(LiveFault.REORDER, 1);
    send(1);
    events.discontinuity(publisher, "gone");
    events.trust(publisher, SourceTrust.UNKNOWN, "silent");
    send(1);
    events.failLive("cut");
    send(1);
    assertThat(heard)
        .hasSize(4)
        .startsWith("break: gone", "UNKNOWN: silent", "2")
        .last()
        .asString()
        .contains("cut");
    assertThat(following.stop().toCompletableFuture()).isCompleted();
  }

  private CompletableFuture<HistoryReply> ask(HistoryRequest request) {
    CompletableFuture<HistoryReply> answer =
        events.history(rank.advertisement(), request).toCompletableFuture();
    time.runUntilIdle();
    return answer;
  }

  @Test
  void historyFailsInEveryWayOnce() {
    send(4);
    for (HistoryFault fault : HistoryFault.values()) {
      events.next(fault, publisher, 1);
    }
    assertThat(ask(HistoryRequest.from(A, 1))).as("broken").isCompletedExceptionally();
    assertThat(ask(HistoryRequest.from(A, 1))).as("silent").isNotDone();
    assertThat(ask(HistoryRequest.from(A, 1)).join()).isInstanceOf(HistoryReply.Failed.class);
    HistoryReply.Events half = (HistoryReply.Events) ask(HistoryRequest.from(A, 1)).join();
    assertThat(half.events()).hasSize(2);
    assertThat(half.last()).isEqualTo(2);
    HistoryReply.TreeDump partial = (HistoryReply.TreeDump) ask(HistoryRequest.full(A)).join();
    assertThat(partial.scope()).isEqualTo(HistoryReply.ResetScope.PARTIAL);
    assertThat(ask(HistoryRequest.full(A)).join()).isInstanceOf(HistoryReply.TreeDumpFailed.class);
    HistoryReply.Events foreign = (HistoryReply.Events) ask(HistoryRequest.from(A, 1)).join();
    assertThat(foreign.events().get(0).member()).isNotEqualTo(A);
    HistoryReply.Events whole = (HistoryReply.Events) ask(HistoryRequest.from(A, 1)).join();
    assertThat(whole.events()).hasSize(4);
  }

  @Test
  void answersAreLateOnCommand() {
    send(2);
    events.delayHistory(Duration.ofSeconds(1));
    CompletableFuture<HistoryReply> answer = ask(HistoryRequest.from(A, 1));
    assertThat(answer).isNotDone();
    time.advance(Duration.ofSeconds(1));
    assertThat(answer).isCompleted();
  }

  @Test
  void aRestartInPlaceKeepsTheNameAndSilencesTheOldLife() {
    send(2);
    InMemoryEventSource.Rank again = rank.restartInPlace();
    send(1);
    again.store(new long[] {7}, new long[] {7});
    assertThat(heard).containsExactly("1", "2", "break: the publisher restarted", "1");
    assertThat(again.advertisement()).isEqualTo(rank.advertisement());
    assertThat(again.blocks()).hasSize(1);
    HistoryReply.TreeDump dump = (HistoryReply.TreeDump) ask(HistoryRequest.full(A)).join();
    assertThat(dump.events()).as("of the new life").hasSize(1);
  }
}
