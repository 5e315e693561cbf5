package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class AnswersTest {
  private static final long LIMIT = 1 << 20;

  private static HistoryReply replay(Recorded.Answer answer) throws Exception {
    return replay(answer.codec(), answer.subject(), answer.bytes());
  }

  private static HistoryReply replay(RecoveryTarget.Codec codec, String subject, byte[] bytes)
      throws Exception {
    ByteArrayInputStream in = new ByteArrayInputStream(bytes);
    assertThat(AnswerStream.subject(TwoPart.read(in, 0))).isEqualTo(subject);
    AnswerStream stream = new AnswerStream(codec);
    TwoPart frame;
    do {
      frame = TwoPart.read(in, LIMIT);
    } while (frame != null && !stream.take(frame));
    return HistoryReplies.read(stream.complete());
  }

  @Test
  void aRecordedDumpIsUnderstoodInEitherEncoding() throws Exception {
    HistoryReply.TreeDump packed =
        (HistoryReply.TreeDump) replay(Recorded.answer("dump", "msgpack"));
    HistoryReply.TreeDump json = (HistoryReply.TreeDump) replay(Recorded.answer("dump", "json"));

    assertThat(json).isEqualTo(packed);
    assertThat(packed.scope()).isEqualTo(HistoryReply.ResetScope.ALL);
    assertThat(packed.last()).isEqualTo(48);
    assertThat(packed.events()).hasSize(48);
    assertThat(packed.events()).allMatch(event -> event.member().workerId() == Recorded.WORKER);
    assertThat(packed.events()).anyMatch(event -> event.kind() == KvEvent.Kind.REMOVED);
  }

  /** The dump of a cache that was first asked while it was empty is its whole raw history. */
  @Test
  void aDumpWithRemovalsInItComesToTheSameStateAsItsStream() throws Exception {
    HistoryReply.TreeDump dump = (HistoryReply.TreeDump) replay(Recorded.answer("dump", "msgpack"));
    HistoryReply.Events tail = (HistoryReply.Events) replay(Recorded.answer("range-json", "json"));

    assertThat(dump.events().subList(2, 48)).isEqualTo(tail.events());
    Set<Long> held = new TreeSet<>();
    for (KvEvent event : dump.events()) {
      for (int i = 0; i < event.length(); i++) {
        if (event.kind() == KvEvent.Kind.STORED) {
          held.add(event.engineHash(i));
        } else {
          assertThat(held.remove(event.engineHash(i))).isTrue();
        }
      }
    }
    assertThat(held).hasSizeLessThanOrEqualTo(96).isNotEmpty();
  }

  @Test
  void recordedRefusalsAreUnderstood() throws Exception {
    assertThat(replay(Recorded.answer("too-new", "msgpack")))
        .isEqualTo(new HistoryReply.TooNew(100000, 100005, 48));
    assertThat(replay(Recorded.answer("too-new-open", "msgpack")))
        .isEqualTo(new HistoryReply.TooNew(100000, 48, 48));
    assertThat(replay(Recorded.answer("invalid", "msgpack")))
        .isEqualTo(new HistoryReply.InvalidRange(5, 4));
    assertThatThrownBy(() -> replay(Recorded.answer("other-rank", "msgpack")))
        .isInstanceOf(MalformedException.class)
        .hasMessageContaining("dp_rank mismatch");
  }

  @Test
  void anAnswerIsCompleteWithItsFinalFrameAndNotBefore() throws Exception {
    Recorded.Answer answer = Recorded.answer("invalid", "msgpack");
    byte[] bytes = answer.bytes();
    int sentinel = 24 + "\"sentinel\"".length();
    int last = 24 + 17;

    byte[] withoutSentinel = Arrays.copyOf(bytes, bytes.length - sentinel);
    assertThat(replay(answer.codec(), answer.subject(), withoutSentinel))
        .isInstanceOf(HistoryReply.InvalidRange.class);
    byte[] withoutFinal = Arrays.copyOf(bytes, bytes.length - sentinel - last);
    assertThatThrownBy(() -> replay(answer.codec(), answer.subject(), withoutFinal))
        .hasMessageContaining("without its final frame");
    byte[] torn = Arrays.copyOf(bytes, bytes.length - sentinel - 3);
    assertThatThrownBy(() -> replay(answer.codec(), answer.subject(), torn))
        .isInstanceOf(EOFException.class);
  }

  private static AnswerStream stream(Object... headersAndBodies) throws MalformedException {
    AnswerStream stream = new AnswerStream(RecoveryTarget.Codec.JSON);
    for (int i = 0; i < headersAndBodies.length; i += 2) {
      stream.take(new TwoPart(utf8(headersAndBodies[i]), utf8(headersAndBodies[i + 1])));
    }
    return stream;
  }

  private static byte[] utf8(Object text) {
    return ((String) text).getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void aPrologueWithAnErrorFails() {
    assertThatThrownBy(() -> stream("{\"error\":\"response plane mismatch\"}", ""))
        .hasMessageContaining("response plane mismatch");
    assertThatThrownBy(() -> stream("{\"error\":\"full\",\"typed_error\":{\"class\":\"x\"}}", ""))
        .hasMessageContaining("full");
    assertThatThrownBy(() -> stream("", "")).isInstanceOf(MalformedException.class);
  }

  @Test
  void onlyTheFirstValueCountsAndTheRestIsCheckedToTheEnd() throws Exception {
    String one =
        "{\"data\":{\"InvalidRange\":{\"start_id\":2,\"end_id\":1}},\"complete_final\":false}";
    String two = "{\"data\":\"other\",\"complete_final\":false}";
    String end = "{\"complete_final\":true}";

    assertThat(HistoryReplies.read(stream("{}", "", "", one, "", two, "", end).complete()))
        .isEqualTo(new HistoryReply.InvalidRange(2, 1));
    assertThatThrownBy(() -> stream("{}", "", "", one, "", end, "", two))
        .hasMessageContaining("follows the final one");
    assertThatThrownBy(() -> stream("{}", "", "", one, "\"sentinel\"", ""))
        .hasMessageContaining("without its final frame");
    assertThatThrownBy(() -> stream("{}", "", "", end).complete()).hasMessageContaining("no value");
    assertThatThrownBy(() -> stream("{}", "", "\"stop\"", "")).hasMessageContaining("control");
    assertThatThrownBy(() -> stream("{}", "", "", "{\"data\":1}"))
        .hasMessageContaining("complete_final is missing");
    assertThatThrownBy(() -> stream("{}", "", "", "{")).isInstanceOf(MalformedException.class);
  }

  private static HistoryReply value(String json) throws MalformedException {
    return HistoryReplies.read(JsonToMessagePack.convert(utf8(json)));
  }

  @Test
  void everyKindOfAnswerIsToldApart() throws Exception {
    assertThat(value("{\"TreeDumpFailed\":{\"last_event_id\":9,\"message\":\"m\"}}"))
        .isEqualTo(new HistoryReply.TreeDumpFailed(9, "m"));
    assertThat(value("{\"TreeDump\":{\"events\":[],\"last_event_id\":0}}"))
        .isEqualTo(new HistoryReply.TreeDump(java.util.List.of(), 0, HistoryReply.ResetScope.ALL));
    assertThat(
            value(
                "{\"TreeDump\":{\"events\":[],\"last_event_id\":18446744073709551615,"
                    + "\"reset_scope\":{\"domain\":\"worker\"}}}"))
        .isEqualTo(
            new HistoryReply.TreeDump(java.util.List.of(), -1, HistoryReply.ResetScope.PARTIAL));
    assertThat(value("{\"Status\":{}}")).isInstanceOf(HistoryReply.Failed.class);
    assertThat(value("\"Busy\"")).isInstanceOf(HistoryReply.Failed.class);
    assertThatThrownBy(() -> value("{\"Error\":\"other worker\"}"))
        .hasMessageContaining("other worker");
    assertThatThrownBy(() -> value("{\"Events\":{\"events\":[]}}"))
        .hasMessageContaining("last_event_id is missing");
    assertThatThrownBy(() -> value("{}")).isInstanceOf(MalformedException.class);
  }

  @Test
  void lengthsBeyondTheLimitAreRefusedUnread() {
    byte[] longBody =
        HexFormat.of().parseHex("0000000000000000000000000010000100" + "00".repeat(7));
    byte[] negative = HexFormat.of().parseHex("ff" + "00".repeat(23));

    assertThatThrownBy(() -> TwoPart.read(new ByteArrayInputStream(longBody), LIMIT))
        .hasMessageContaining("body length = 1048577");
    assertThatThrownBy(() -> TwoPart.read(new ByteArrayInputStream(negative), LIMIT))
        .hasMessageContaining("header length");
  }

  @Test
  void aRequestSaysWhatARequestThatWasAnsweredSaid() throws Exception {
    for (String[] line : Recorded.lines("requests.txt", 5)) {
      RecoveryTarget.Codec codec = RecoveryTarget.Codec.ofWireName(line[1]);
      byte[] theirs = HexFormat.of().parseHex(line[4]);
      String path = "5c2756c8af728392/dynamo/backend/worker_kv_query_source_1489907c652bec";
      HistoryRequest request =
          new HistoryRequest(
              new Member(Recorded.WORKER, 0),
              line[0].equals("dump") ? OptionalLong.empty() : OptionalLong.of(3),
              OptionalLong.empty());
      byte[] ours =
          QueryMessages.request(
              new RecoveryTarget("127.0.0.1", 1, path, codec),
              request,
              line[2],
              line[3],
              address(theirs));

      Parts expected = Parts.of(theirs);
      Parts actual = Parts.of(ours);
      assertThat(actual.path).isEqualTo(expected.path).isEqualTo(path);
      assertThat(actual.comparable()).isEqualTo(expected.comparable());
      assertThat(actual.body(codec)).isEqualTo(expected.body(codec));
    }
  }

  private static String address(byte[] request) throws MalformedException {
    return Json.parseObject(
            utf8(
                ((java.util.Map<?, ?>) Parts.of(request).control.get("connection_info"))
                    .get("info")))
        .text("address");
  }

  /** A request taken apart. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Parts(String path, java.util.Map<String, Object> control, byte[] body) {
    private static Parts of(byte[] request) throws MalformedException {
      java.nio.ByteBuffer in = java.nio.ByteBuffer.wrap(request);
      byte[] path = new byte[in.getShort()];
      in.get(path);
      byte[] headers = new byte[in.getShort()];
      in.get(headers);
      assertThat(Json.parse(headers)).isInstanceOf(java.util.Map.class);
      assertThat(in.getInt()).isEqualTo(in.remaining());
      byte[] control = new byte[(int) in.getLong()];
      byte[] body = new byte[(int) in.getLong()];
      in.getLong();
      in.get(control).get(body);
      assertThat(in.remaining()).isZero();
      return new Parts(
          new String(path, StandardCharsets.UTF_8), Json.parseObject(control).tree(), body);
    }

    /** The text inside is JSON, too; its white space is of no meaning. */
    private Object comparable() throws MalformedException {
      java.util.Map<String, Object> copy = new java.util.HashMap<>(control);
      java.util.Map<?, ?> connection = (java.util.Map<?, ?>) control.get("connection_info");
      copy.put("connection_info", connection.get("transport"));
      copy.put("info", Json.parse(utf8(connection.get("info"))));
      return copy;
    }

    private Object body(RecoveryTarget.Codec codec) throws Exception {
      if (codec == RecoveryTarget.Codec.JSON) {
        return Json.parse(body);
      }
      try (var in = org.msgpack.core.MessagePack.newDefaultUnpacker(body)) {
        return Json.parse(utf8(in.unpackValue().toJson()));
      }
    }
  }
}
