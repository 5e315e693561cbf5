package io.kvrelay.dynamo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.LoadReport;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One message of the event plane, checked: four frames whose topic, publisher and sequence agree
 * with the envelope inside, and whose topic and publisher are those advertised.
 *
 * @param sequence counts a publisher's messages from 0 (unsigned)
 * @param bytes holds the payload
 * @param offset where the payload begins
 * @param length its length
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Envelope(long sequence, byte[] bytes, int offset, int length) {
  private static final int FRAMES = 4;
  private static final int VERSION = 1;
  private static final int PREFIX = 5;

  /**
   * Reads a message.
   *
   * @param frames as received
   * @param topic the topic subscribed to
   * @param publisherId the publisher that is advertised
   * @return null if it is of a longer topic that begins like the one subscribed to
   */
  static @Nullable Envelope read(List<byte[]> frames, Topic topic, long publisherId)
      throws MalformedException {
    if (frames.size() != FRAMES) {
      throw MalformedException.of("frames", frames.size(), "must be " + FRAMES);
    }
    if (!topic.is(frames.get(0))) {
      return null;
    }
    long publisher = u64("frame 1", frames.get(1));
    long sequence = u64("frame 2", frames.get(2));
    if (publisher != publisherId) {
      throw MalformedException.of(
          "publisher_id",
          Long.toUnsignedString(publisher),
          "the channel is " + Long.toUnsignedString(publisherId) + "'s");
    }
    byte[] last = frames.get(3);
    return envelope(last, payloadLength(last), topic, publisher, sequence);
  }

  private static long u64(String name, byte[] frame) throws MalformedException {
    if (frame.length != Long.BYTES) {
      throw MalformedException.of(name, frame.length + " bytes", "must be 8 bytes");
    }
    return ByteBuffer.wrap(frame).getLong();
  }

  private static int payloadLength(byte[] frame) throws MalformedException {
    if (frame.length < PREFIX || frame[0] != VERSION) {
      throw MalformedException.of(
          "frame 3",
          frame.length == 0 ? "empty" : "version " + (frame[0] & 0xFF),
          "must begin with version 1 and a length");
    }
    long length = Integer.toUnsignedLong(ByteBuffer.wrap(frame).getInt(1));
    if (length > frame.length - PREFIX) {
      throw MalformedException.of(
          "frame 3", length + " bytes declared", "has " + (frame.length - PREFIX));
    }
    return (int) length;
  }

  private static Envelope envelope(
      byte[] frame, int declared, Topic topic, long publisher, long sequence)
      throws MalformedException {
    MessagePackReader in = new MessagePackReader(frame, PREFIX, declared);
    boolean same = true;
    int named = 0;
    int offset = -1;
    int length = 0;
    for (int n = in.map("envelope"); n > 0; n--) {
      switch (in.text("key")) {
        case "publisher_id" -> {
          same &= in.u64("publisher_id") == publisher;
          named++;
        }
        case "sequence" -> {
          same &= in.u64("sequence") == sequence;
          named++;
        }
        case "topic" -> {
          same &= in.text("topic").equals(topic.wireName());
          named++;
        }
        case "payload" -> {
          length = in.bin("payload");
          offset = in.position();
          in.take(length);
        }
        default -> in.skip();
      }
    }
    if (!same || named != 3 || offset < 0) {
      throw new MalformedException(
          named == 3 && offset >= 0
              ? "envelope and frames disagree on publisher, sequence or topic"
              : "envelope: publisher_id, sequence, topic and payload must be there");
    }
    return new Envelope(sequence, frame, offset, length);
  }

  private MessagePackReader payload() {
    return new MessagePackReader(bytes, offset, length);
  }

  /** The payload as a batch of events. */
  List<KvEvent> events() throws MalformedException {
    MessagePackReader in = payload();
    List<KvEvent> events = RouterEvents.read(in);
    in.checkEnd();
    return events;
  }

  /** The payload as a report of load. Values that nobody acts on are left out. */
  LoadReport load() throws MalformedException {
    MessagePackReader in = payload();
    boolean hasWorker = false;
    long worker = 0;
    int rank = 0;
    OptionalLong used = OptionalLong.empty();
    OptionalLong decoding = OptionalLong.empty();
    OptionalLong prefilling = OptionalLong.empty();
    for (int n = in.map("load"); n > 0; n--) {
      switch (in.text("key")) {
        case "worker_id" -> {
          worker = in.u64("worker_id");
          hasWorker = true;
        }
        case "dp_rank" -> rank = in.u32("dp_rank");
        case "kv_used_blocks" -> used = optional(in, "kv_used_blocks");
        case "active_decode_blocks" -> decoding = optional(in, "active_decode_blocks");
        case "active_prefill_tokens" -> prefilling = optional(in, "active_prefill_tokens");
        default -> in.skip();
      }
    }
    in.checkEnd();
    if (!hasWorker) {
      throw new MalformedException("worker_id is missing");
    }
    return new LoadReport(new Member(worker, rank), used, decoding, prefilling);
  }

  private static OptionalLong optional(MessagePackReader in, String field)
      throws MalformedException {
    return in.nil() ? OptionalLong.empty() : OptionalLong.of(in.u64(field));
  }
}
