package io.kvrelay.dynamo;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** What was recorded of a running deployment of the reference: release 1.6.1, one mock engine. */
final class Recorded {
  static final long WORKER = 6640371595518051218L;
  static final long PUBLISHER = 5780753189514220L;

  private Recorded() {}

  record Message(Topic topic, long publisher, List<byte[]> frames) {}

  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Answer(String label, RecoveryTarget.Codec codec, String subject, byte[] bytes) {}

  static List<String[]> lines(String resource, int columns) {
    try (InputStream in = Recorded.class.getResourceAsStream(resource)) {
      List<String[]> lines = new ArrayList<>();
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (!line.startsWith("#")) {
          lines.add(line.split(" ", columns));
        }
      }
      return lines;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Message> messages() {
    List<Message> messages = new ArrayList<>();
    for (String[] line : lines("frames.txt", 6)) {
      List<byte[]> frames = new ArrayList<>();
      for (int i = 2; i < 6; i++) {
        frames.add(HexFormat.of().parseHex(line[i]));
      }
      messages.add(new Message(Topic.ofWireName(line[0]), Long.parseUnsignedLong(line[1]), frames));
    }
    return messages;
  }

  static List<Answer> answers() throws MalformedException {
    List<Answer> answers = new ArrayList<>();
    for (String[] line : lines("answers.txt", 4)) {
      answers.add(
          new Answer(
              line[0],
              RecoveryTarget.Codec.ofWireName(line[1]),
              line[2],
              HexFormat.of().parseHex(line[3])));
    }
    return answers;
  }

  static Answer answer(String label, String codec) throws MalformedException {
    for (Answer answer : answers()) {
      if (answer.label().equals(label) && answer.codec().wireName().equals(codec)) {
        return answer;
      }
    }
    throw new IllegalArgumentException(label + " " + codec);
  }

  /** The file store's content, by decoded key. */
  static Map<RecordKey, byte[]> records() throws MalformedException {
    Map<RecordKey, byte[]> records = new HashMap<>();
    for (String[] line : lines("records.txt", 3)) {
      RecordKey key = RecordKey.parse("v1/" + line[0] + "/" + Segments.decode(line[1]));
      records.put(key, line[2].getBytes(StandardCharsets.UTF_8));
    }
    return records;
  }
}
