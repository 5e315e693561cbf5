package io.kvrelay.dynamo;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The course of one answer after its hello: a prologue, frames with values, a final frame, a
 * sentinel. Only the first value counts; the rest is checked to the end. Not thread safe.
 */
final class AnswerStream {
  private enum Stage {
    PROLOGUE,
    VALUES,
    FINAL,
    ENDED
  }

  private final RecoveryTarget.Codec codec;
  private Stage stage = Stage.PROLOGUE;
  private byte @Nullable [] value;

  AnswerStream(RecoveryTarget.Codec codec) {
    this.codec = codec;
  }

  /** The subject of a hello. */
  static String subject(TwoPart hello) throws MalformedException {
    JsonObject header = Json.parseObject(hello.header());
    String kind = header.text("stream_type");
    if (!kind.equals("response") || hello.body().length > 0) {
      throw MalformedException.of("hello", kind, "must be a response without a body");
    }
    return header.text("subject");
  }

  /** Takes the next frame. Returns true once nothing more may come. */
  boolean take(TwoPart frame) throws MalformedException {
    if (stage == Stage.PROLOGUE) {
      prologue(Json.parseObject(frame.header()));
      stage = Stage.VALUES;
    } else if (frame.header().length > 0) {
      control(frame.header());
    } else {
      answer(frame.body());
    }
    return stage == Stage.ENDED;
  }

  private static void prologue(JsonObject header) throws MalformedException {
    if (header.has("error")) {
      throw new MalformedException("the worker refused: " + header.text("error"));
    }
  }

  private void control(byte[] header) throws MalformedException {
    if (!"sentinel".equals(Json.parse(header))) {
      throw MalformedException.of(
          "control", new String(header, StandardCharsets.UTF_8), "is unknown");
    }
    complete();
    stage = Stage.ENDED;
  }

  private void answer(byte[] body) throws MalformedException {
    if (stage != Stage.VALUES) {
      throw new MalformedException("a frame follows the final one");
    }
    byte[] packed = codec == RecoveryTarget.Codec.JSON ? JsonToMessagePack.convert(body) : body;
    MessagePackReader in = new MessagePackReader(packed);
    boolean last = false;
    boolean stated = false;
    int from = -1;
    int to = -1;
    for (int n = in.map("answer"); n > 0; n--) {
      switch (in.text("key")) {
        case "data" -> {
          if (!in.nil()) {
            from = in.position();
            in.skip();
            to = in.position();
          }
        }
        case "complete_final" -> {
          last = in.flag("complete_final");
          stated = true;
        }
        default -> in.skip();
      }
    }
    in.checkEnd();
    if (!stated) {
      throw new MalformedException("complete_final is missing");
    }
    if (value == null && from >= 0) {
      value = Arrays.copyOfRange(packed, from, to);
    }
    stage = last ? Stage.FINAL : Stage.VALUES;
  }

  /** Whether the final frame came. */
  boolean hasFinal() {
    return stage == Stage.FINAL || stage == Stage.ENDED;
  }

  /**
   * The connection has ended, or the sentinel came: the value, in MessagePack.
   *
   * @throws MalformedException if the answer is not complete
   */
  byte[] complete() throws MalformedException {
    byte[] first = value;
    if (!hasFinal()) {
      throw new MalformedException("the answer ended without its final frame");
    }
    if (first == null) {
      throw new MalformedException("the answer has no value");
    }
    return first;
  }
}
