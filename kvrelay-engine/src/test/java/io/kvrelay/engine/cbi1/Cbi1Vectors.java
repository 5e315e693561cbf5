package io.kvrelay.engine.cbi1;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.testing.Json;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/** The vector file, and the frames it describes. */
final class Cbi1Vectors {
  static final Json FILE = Json.resource("/vectors/cbi1_vectors.json");

  private Cbi1Vectors() {}

  /** Encodes a vector of the group "vectors". */
  static byte[] encode(Json vector) {
    CkfFormat format = Cbi1.format(vector.get("seed").u64(), vector.get("bucket_count").u64());
    Cbi1Encoder encoder = new Cbi1Encoder(format, vector.get("dc_id").u64());
    long epoch = vector.get("epoch").u64();
    if (vector.get("kind").text().equals("delta")) {
      int[] buckets = buckets(vector);
      long base = vector.get("base_epoch").u64();
      return bytes(encoder.delta(epoch, base, buckets, words(vector), buckets.length));
    }
    long[] filter = new long[format.bucketCount()];
    Json chunk = vector.get("chunk");
    long[] words = chunkWords(vector);
    System.arraycopy(words, 0, filter, (int) chunk.get("offset").u64(), words.length);
    return bytes(encoder.snapshotChunk(epoch, filter, chunk.get("index").integer()));
  }

  static Json named(String name) {
    for (Json vector : FILE.get("vectors")) {
      if (vector.get("name").text().equals(name)) {
        return vector;
      }
    }
    throw new AssertionError("no vector " + name);
  }

  /** The frame of a vector of any group: literal, by name, or constructed from another. */
  static byte[] frame(Json vector) {
    if (vector.has("frame_hex")) {
      return hex(vector.get("frame_hex").text());
    }
    if (vector.has("frame")) {
      return encode(named(vector.get("frame").text()));
    }
    Json construct = vector.get("construct");
    byte[] base = encode(named(construct.get("base").text()));
    if (construct.has("patch")) {
      for (Json patch : construct.get("patch")) {
        byte[] bytes = hex(patch.get(1).text());
        System.arraycopy(bytes, 0, base, patch.get(0).integer(), bytes.length);
      }
    }
    byte[] appended =
        construct.has("append_hex") ? hex(construct.get("append_hex").text()) : new byte[0];
    byte[] frame = Arrays.copyOf(base, base.length + appended.length);
    System.arraycopy(appended, 0, frame, base.length, appended.length);
    if (construct.get("recompute_checksum").bool()) {
      sign(frame);
    }
    return frame;
  }

  /** Makes the checksum right. */
  static void sign(byte[] frame) {
    ByteBuffer buffer = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    buffer.putInt(Cbi1.CHECKSUM_AT, Cbi1.checksum(frame));
  }

  /** Seed and bucket count of a frame's own header. */
  static CkfFormat formatOf(byte[] frame) {
    ByteBuffer buffer = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    return Cbi1.format(buffer.getLong(Cbi1.SEED_AT), buffer.getLong(Cbi1.BUCKET_COUNT_AT));
  }

  static int[] buckets(Json vector) {
    if (vector.has("images_rule")) {
      int[] buckets = new int[vector.get("images_rule").get("count").integer()];
      Arrays.setAll(buckets, i -> i);
      return buckets;
    }
    int[] buckets = new int[vector.get("images").size()];
    Arrays.setAll(buckets, i -> vector.get("images").get(i).get("bucket").integer());
    return buckets;
  }

  static long[] words(Json vector) {
    if (vector.has("images_rule")) {
      long[] words = new long[vector.get("images_rule").get("count").integer()];
      Arrays.setAll(words, i -> i);
      return words;
    }
    long[] words = new long[vector.get("images").size()];
    Arrays.setAll(words, i -> vector.get("images").get(i).get("word").u64());
    return words;
  }

  static long[] chunkWords(Json vector) {
    if (vector.has("words")) {
      return vector.get("words").u64s();
    }
    Json sparse = vector.get("words_sparse");
    long[] words = new long[sparse.get("length").integer()];
    Arrays.fill(words, sparse.get("fill").u64());
    for (Json set : sparse.get("set")) {
      words[set.get(0).integer()] = set.get(1).u64();
    }
    return words;
  }

  static byte[] bytes(ByteBuffer frame) {
    byte[] bytes = new byte[frame.remaining()];
    frame.get(frame.position(), bytes);
    return bytes;
  }

  static byte[] hex(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
