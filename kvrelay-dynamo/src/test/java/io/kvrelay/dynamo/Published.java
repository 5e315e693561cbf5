package io.kvrelay.dynamo;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What publishers send, made by hand. */
final class Published {
  private Published() {}

  static List<byte[]> frames(String topic, long publisher, long sequence, byte[] payload) {
    MessagePackWriter out = new MessagePackWriter().map(5);
    out.text("publisher_id").u64(publisher).text("sequence").u64(sequence);
    out.text("published_at").u64(1_796_077_863_822L).text("topic").text(topic);
    out.text("payload").raw(bin(payload));
    return List.of(
        topic.getBytes(StandardCharsets.US_ASCII),
        u64(publisher),
        u64(sequence),
        last(out.bytes()));
  }

  /** An empty batch in an envelope with a key too many, or without its topic. */
  static List<byte[]> framesWith(long publisher, long sequence, boolean topic, boolean more) {
    MessagePackWriter out = new MessagePackWriter().map(3 + (topic ? 1 : 0) + (more ? 1 : 0));
    out.text("publisher_id").u64(publisher).text("sequence").u64(sequence);
    if (topic) {
      out.text("topic").text("kv-events");
    }
    if (more) {
      out.text("future").map(1).text("x").list(0);
    }
    out.text("payload").raw(bin(new byte[] {(byte) 0x90}));
    return List.of(
        "kv-events".getBytes(StandardCharsets.US_ASCII),
        u64(publisher),
        u64(sequence),
        last(out.bytes()));
  }

  private static byte[] u64(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  private static byte[] last(byte[] envelope) {
    return ByteBuffer.allocate(5 + envelope.length)
        .put((byte) 1)
        .putInt(envelope.length)
        .put(envelope)
        .array();
  }

  private static byte[] bin(byte[] content) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(0xC6);
    out.writeBytes(ByteBuffer.allocate(4).putInt(content.length).array());
    out.writeBytes(content);
    return out.toByteArray();
  }

  /** A batch that stores one root block per id. */
  static byte[] batch(long worker, int rank, long... eventIds) {
    MessagePackWriter out = new MessagePackWriter().list(eventIds.length);
    for (long id : eventIds) {
      event(out, worker, rank, id);
    }
    return out.bytes();
  }

  static void event(MessagePackWriter out, long worker, int rank, long id) {
    out.map(4).text("worker_id").u64(worker).text("storage_tier").text("device");
    out.text("residency_domain").text("worker");
    out.text("event").map(3).text("event_id").u64(id);
    out.text("data").map(1).text("stored").map(3).text("parent_hash").nil();
    out.text("start_position").nil().text("blocks").list(1);
    out.map(3).text("block_hash").u64(id * 31).text("tokens_hash").u64(id * 37);
    out.text("mm_extra_info").nil().text("dp_rank").u64(rank);
  }

  static byte[] load(long worker, int rank, long used) {
    MessagePackWriter out = new MessagePackWriter().map(5);
    out.text("worker_id").u64(worker).text("dp_rank").u64(rank);
    out.text("active_decode_blocks").nil().text("active_prefill_tokens").nil();
    return out.text("kv_used_blocks").u64(used).bytes();
  }
}
