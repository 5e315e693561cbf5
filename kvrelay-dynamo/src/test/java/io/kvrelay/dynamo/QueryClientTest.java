package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.Member;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Questions over real sockets of the loopback; time is virtual, so only what must ends by itself.
 */
@Timeout(60)
class QueryClientTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String RANGE = "{\"InvalidRange\":{\"start_id\":5,\"end_id\":4}}";
  private static final HistoryRequest FULL = HistoryRequest.full(new Member(-5, 0));

  @TempDir Path root;

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ExecutorService io = Executors.newCachedThreadPool();
  private FakeWorker worker;
  private QueryDoor door;
  private QueryClient client;

  @BeforeEach
  void open() throws Exception {
    worker = new FakeWorker(root, -5, 7);
    door =
        new QueryDoor(
            runtime,
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            io,
            ServerSocket::new);
    client = new QueryClient(runtime, door, io, null, PATIENCE, 1 << 20);
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    door.close();
    worker.close();
    io.shutdownNow();
  }

  private CompletableFuture<HistoryReply> ask() {
    return client.ask(worker.target(RecoveryTarget.Codec.MSGPACK), FULL);
  }

  private static HistoryReply get(CompletableFuture<HistoryReply> reply) throws Exception {
    return reply.get(20, TimeUnit.SECONDS);
  }

  private static void assertFails(CompletableFuture<HistoryReply> reply, String message) {
    assertThatThrownBy(() -> get(reply))
        .hasCauseInstanceOf(Exception.class)
        .cause()
        .hasMessageContaining(message);
  }

  @Test
  void bothEncodingsAreSpoken() throws Exception {
    for (RecoveryTarget.Codec codec : RecoveryTarget.Codec.values()) {
      CompletableFuture<HistoryReply> reply = client.ask(worker.target(codec), FULL);
      FakeWorker.Question question = worker.nextQuestion();
      assertThat(question.path).isEqualTo("some/path");
      assertThat(question.control).containsEntry("payload_codec", codec.wireName());
      assertThat(question.body).isEqualTo(QueryMessages.body(codec, FULL));
      question.answer(RANGE);

      assertThat(get(reply)).isEqualTo(new HistoryReply.InvalidRange(5, 4));
      assertThat(question.isClosedByRelay()).isTrue();
    }
    assertThat(client.answered()).isEqualTo(2);
    assertThat(door.strangers()).isZero();
  }

  @Test
  void answersAreToldApartByTheirSubjects() throws Exception {
    CompletableFuture<HistoryReply> first = ask();
    FakeWorker.Question one = worker.nextQuestion();
    CompletableFuture<HistoryReply> second = ask();
    FakeWorker.Question two = worker.nextQuestion();
    two.answer("{\"InvalidRange\":{\"start_id\":2,\"end_id\":2}}");
    one.answer("{\"InvalidRange\":{\"start_id\":1,\"end_id\":1}}");

    assertThat(get(first)).isEqualTo(new HistoryReply.InvalidRange(1, 1));
    assertThat(get(second)).isEqualTo(new HistoryReply.InvalidRange(2, 2));
  }

  @Test
  void aRefusalFailsAtOnce() throws Exception {
    for (String refusal :
        List.of("Server unavailable: unknown endpoint p", "Server overloaded: x")) {
      CompletableFuture<HistoryReply> reply = ask();
      worker.nextQuestion().acknowledge(refusal);

      assertFails(reply, refusal);
    }
    assertThat(client.failed()).isEqualTo(2);
  }

  @Test
  void aWorkerThatNeverCallsBackCostsTheWholePatienceAndNoMore() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    worker.nextQuestion().acknowledge("");
    assertThat(reply).isNotDone();

    runtime.advance(PATIENCE);

    assertFails(reply, "no complete answer within PT30S");
  }

  @Test
  void aWorkerThatStopsInTheMiddleCostsTheWholePatienceAndNoMore() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack().say("{\"error\":null}", "").raw(new byte[10]);
    assertThat(reply).isNotDone();

    runtime.advance(PATIENCE);

    assertFails(reply, "no complete answer");
    assertThat(question.isClosedByRelay()).isTrue();
  }

  @Test
  void aWorkerThatIsNotThereFails() throws Exception {
    RecoveryTarget gone = worker.target(RecoveryTarget.Codec.JSON);
    worker.vanish();

    assertFails(client.ask(gone, FULL), "refused");
  }

  @Test
  void aCallerWithAnUnknownSubjectIsTurnedAwayAndOthersAreNotAffected() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack("somebody else");
    assertThat(question.isClosedByRelay()).isTrue();
    question
        .callBack()
        .say("{\"error\":null}", "")
        .value("{\"data\":" + RANGE + ",\"complete_final\":false}")
        .value("{\"complete_final\":true}");
    question.say("\"sentinel\"", "");

    assertThat(get(reply)).isInstanceOf(HistoryReply.InvalidRange.class);
    assertThat(door.strangers()).isEqualTo(1);
  }

  @Test
  void aCallerWhoDoesNotIntroduceItselfIsTurnedAway() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.dial().raw(java.nio.ByteBuffer.allocate(24).putLong(200_000).array());

    assertThat(question.isClosedByRelay()).isTrue();
    assertThat(reply).isNotDone();
  }

  @Test
  void aPrologueWithAnErrorFails() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack().say("{\"error\":\"response plane mismatch\"}", "");

    assertFails(reply, "response plane mismatch");
  }

  @Test
  void aConnectionThatEndsBeforeTheFinalFrameFailsAndAfterItDoesNot() throws Exception {
    for (boolean last : new boolean[] {false, true}) {
      CompletableFuture<HistoryReply> reply = ask();
      FakeWorker.Question question = worker.nextQuestion();
      question.acknowledge("");
      question.callBack().say("{\"error\":null}", "");
      question.value("{\"data\":" + RANGE + ",\"complete_final\":false}");
      if (last) {
        question.value("{\"complete_final\":true}");
      }
      question.hangUp();

      if (last) {
        assertThat(get(reply)).isInstanceOf(HistoryReply.InvalidRange.class);
      } else {
        assertFails(reply, "without its final frame");
      }
    }
  }

  @Test
  void aFrameAfterTheFinalOneFails() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack().say("{\"error\":null}", "");
    question.value("{\"data\":" + RANGE + ",\"complete_final\":true}");
    question.value("{\"data\":" + RANGE + ",\"complete_final\":false}");

    assertFails(reply, "follows the final one");
  }

  @Test
  void anErrorIsAFailedAttempt() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    worker.nextQuestion().answer("{\"Error\":\"other worker\"}");

    assertFails(reply, "other worker");
  }

  @Test
  void anAnswerBeyondTheLimitFailsUnread() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack().say("{\"error\":null}", "");
    question.raw(new byte[8]).raw(java.nio.ByteBuffer.allocate(16).putLong((1 << 20) + 1).array());

    assertFails(reply, "body length = 1048577");
  }

  @Test
  void anAcknowledgementBeyondTheLimitFails() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    worker.nextQuestion().acknowledge("x".repeat(70_000));

    assertFails(reply, "acknowledgement = 70000 bytes");
  }

  @Test
  void aCancelledQuestionClosesItsConnection() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    FakeWorker.Question question = worker.nextQuestion();
    question.acknowledge("");
    question.callBack().say("{\"error\":null}", "");
    reply.cancel(true);

    assertThat(question.isClosedByRelay()).isTrue();
  }

  @Test
  void whatIsUnderWayFailsWhenTheClientCloses() throws Exception {
    CompletableFuture<HistoryReply> reply = ask();
    worker.nextQuestion().acknowledge("");
    client.close();

    assertFails(reply, "closed");
  }
}
