package io.kvrelay.engine.cbi1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.NoSuchElementException;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class Cbi1EncoderTest {
  private static final CkfFormat FORMAT = new CkfFormat(0x5EED, 1024);
  private static final Cbi1Encoder ENCODER = new Cbi1Encoder(FORMAT, 7);

  @Test
  void constantsEqualTheVectors() {
    Json constants = Cbi1Vectors.FILE.get("constants");
    assertThat(Cbi1.HEADER_BYTES).isEqualTo(constants.get("header_length").integer());
    assertThat(Cbi1.CHUNK_BUCKETS).isEqualTo(constants.get("snapshot_chunk_buckets").integer());
    assertThat(Cbi1.MAX_FRAME_BYTES).isEqualTo(constants.get("max_frame").integer());
    assertThat(Cbi1.MAX_DELTA_IMAGES).isEqualTo(constants.get("max_delta_images").integer());
    assertThat(Cbi1.WIRE_VERSION).isEqualTo(constants.get("wire_version").integer());
    assertThat(Cbi1.FLAG_CHUNK).isEqualTo(constants.get("flag_snapshot_chunk").integer());
    assertThat(Cbi1.FLAG_DELTA).isEqualTo(constants.get("flag_delta").integer());
    assertThat(CkfFormat.MIN_BUCKETS).isEqualTo(constants.get("min_bucket_count").integer());
    assertThat(CkfFormat.MAX_BUCKETS).isEqualTo(constants.get("max_bucket_count").integer());
    assertThat(CkfFormat.VERSION).isEqualTo(constants.get("format_version").integer());
    assertThat(CkfFormat.FINGERPRINT_BITS).isEqualTo(constants.get("fingerprint_bits").integer());
    assertThat(CkfFormat.SLOTS_PER_BUCKET).isEqualTo(constants.get("slots_per_bucket").integer());
    for (Json sanity : Cbi1Vectors.FILE.get("hash_sanity")) {
      byte[] input = Cbi1Vectors.hex(sanity.get("input_hex").text());
      assertThat(Xxh3.UNSEEDED.hashBytes(input, 0, input.length))
          .isEqualTo(sanity.get("xxh3_64").u64());
    }
  }

  @Test
  void framesEqualEveryGoldenVector() {
    for (Json vector : Cbi1Vectors.FILE.get("vectors")) {
      String name = vector.get("name").text();
      byte[] frame = Cbi1Vectors.encode(vector);
      HexFormat hex = HexFormat.of();
      assertThat(frame).as(name).hasSize(vector.get("length").integer());
      assertThat(hex.formatHex(frame, 44, 48)).isEqualTo(vector.get("checksum_hex").text());
      if (vector.has("expect_hex")) {
        assertThat(hex.formatHex(frame)).as(name).isEqualTo(vector.get("expect_hex").text());
      } else {
        assertThat(hex.formatHex(frame, 0, 48)).isEqualTo(vector.get("header_hex").text());
      }
      assertThat(Cbi1Vectors.sha256(frame)).as(name).isEqualTo(vector.get("expect_sha256").text());
    }
  }

  @Test
  void slotZeroIsTheLeastSignificantOfAWord() {
    Json packing = Cbi1Vectors.FILE.get("slot_packing").get(0);
    long word =
        ByteBuffer.wrap(Cbi1Vectors.hex(packing.get("word_bytes_hex").text()))
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    assertThat(word).isEqualTo(packing.get("word").u64());
    for (int slot = 0; slot < 4; slot++) {
      assertThat((word >>> (16 * slot)) & 0xFFFF)
          .isEqualTo(packing.get("slots").get(slot).integer());
    }
  }

  @Test
  void framesAreReadOnlyAndLittleEndian() {
    ByteBuffer delta = ENCODER.delta(5, 4, new int[] {1}, new long[] {2}, 1);
    assertThat(delta.isReadOnly()).isTrue();
    assertThat(delta.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(delta.position()).isZero();
    assertThat(ENCODER.snapshotChunk(5, new long[1024], 0).isReadOnly()).isTrue();
  }

  @Test
  void aDeltaEncodesItsLeadingImagesOnly() {
    int[] buckets = {9, 8, 7};
    long[] words = {1, 2, 3, 4};
    Cbi1Decoder decoder = new Cbi1Decoder(FORMAT);
    decoder.decodeOrThrow(ENCODER.delta(5, 4, buckets, words, 2));
    assertThat(decoder.imageCount()).isEqualTo(2);
    assertThat(decoder.bucket(1)).isEqualTo(8);
    assertThatThrownBy(() -> ENCODER.delta(5, 4, buckets, words, 4))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void formatsEqualTheVectors() {
    for (Json vector : Cbi1Vectors.FILE.get("accepted_formats")) {
      CkfFormat format = Cbi1.format(1, vector.get("bucket_count").u64());
      assertThat(Cbi1.chunkCount(format.bucketCount()))
          .isEqualTo(vector.get("chunk_count").integer());
    }
    for (Json vector : Cbi1Vectors.FILE.get("negative_encode")) {
      if (vector.get("kind").text().equals("negative_format")) {
        long count = vector.get("bucket_count").u64();
        Cbi1Exception e = failure(() -> Cbi1.format(1, count));
        assertThat(e.error().title()).isEqualTo(vector.get("expect_error").text());
        assertThat(e.value()).isEqualTo(count);
      }
    }
    assertThat(failure(() -> Cbi1.format(1, (1L << 63) + 1024)).error())
        .isEqualTo(Cbi1Error.FORMAT_BUCKET_COUNT);
    assertThat(failure(() -> Cbi1.format(1, 1L << 63)).error())
        .isEqualTo(Cbi1Error.FORMAT_BUCKET_COUNT);
  }

  @Test
  void refusalsEqualTheVectors() {
    for (Json vector : Cbi1Vectors.FILE.get("negative_encode")) {
      if (vector.get("kind").text().equals("negative_encode")) {
        ThrowingCallable attempt = attempt(vector.get("name").text());
        Cbi1Exception e = failure(attempt);
        assertThat(e.error().title())
            .as(vector.toString())
            .isEqualTo(vector.get("expect_error").text());
        assertThat(e.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
      }
    }
  }

  private static ThrowingCallable attempt(String name) {
    int[] tooMany = new int[Cbi1.MAX_DELTA_IMAGES + 1];
    Arrays.setAll(tooMany, i -> i);
    Cbi1Encoder large = new Cbi1Encoder(new CkfFormat(0x5EED, 1 << 20), 7);
    Cbi1Encoder four = new Cbi1Encoder(new CkfFormat(0x5EED, 4), 7);
    return switch (name) {
      case "encode_delta_349526_images" ->
          () -> large.delta(2, 1, tooMany, new long[tooMany.length], tooMany.length);
      case "encode_delta_count_before_bucket" ->
          () -> ENCODER.delta(2, 1, tooMany, new long[tooMany.length], tooMany.length);
      case "encode_delta_bucket_equals_count" ->
          () -> ENCODER.delta(2, 1, new int[] {1024}, new long[] {1}, 1);
      case "encode_snapshot_short" -> () -> four.snapshot(1, new long[3]);
      case "encode_snapshot_long" -> () -> four.snapshot(1, new long[5]);
      default -> throw new AssertionError("unknown vector " + name);
    };
  }

  @Test
  void refusalsNameTheValueAndItsLimit() {
    assertThatThrownBy(() -> ENCODER.delta(2, 1, new int[] {-1}, new long[] {1}, 1))
        .isInstanceOf(Cbi1Exception.class)
        .hasMessage("CBI1 BucketIndex = 4294967295, limit 1024");
    assertThatThrownBy(() -> ENCODER.snapshotChunk(1, new long[3], 0))
        .hasMessage("CBI1 SnapshotBucketCount = 3, limit 1024");
  }

  @Test
  void aSnapshotIsLazyAndKnowsItsLength() {
    long[] words = new long[1 << 20];
    Cbi1Encoder.Snapshot chunks =
        new Cbi1Encoder(new CkfFormat(0x5EED, 1 << 20), 9).snapshot(6, words);
    assertThat(chunks.remaining()).isEqualTo(2);
    Cbi1Decoder decoder = new Cbi1Decoder(new CkfFormat(0x5EED, 1 << 20));
    decoder.decodeOrThrow(chunks.next());
    assertThat(chunks.remaining()).isEqualTo(1);
    // Written after the first chunk was taken: the second one is encoded now, not then.
    words[Cbi1.CHUNK_BUCKETS] = 77;
    decoder.decodeOrThrow(chunks.next());
    assertThat(decoder.chunkWord(0)).isEqualTo(77);
    assertThat(decoder.bucketOffset()).isEqualTo(Cbi1.CHUNK_BUCKETS);
    assertThat(chunks.hasNext()).isFalse();
    assertThatThrownBy(chunks::next).isInstanceOf(NoSuchElementException.class);
    assertThatThrownBy(() -> ENCODER.snapshotChunk(1, new long[1024], 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void randomDeltasRoundTripInOrder() {
    Random random = Seeds.random();
    Cbi1Decoder decoder = new Cbi1Decoder(FORMAT);
    for (int i = 0; i < 2_000; i++) {
      int count = random.nextInt(50);
      int[] buckets = random.ints(count, 0, 1024).toArray();
      long[] words = random.longs(count).toArray();
      long epoch = random.nextLong();
      long base = random.nextLong();
      assertThat(decoder.decode(ENCODER.delta(epoch, base, buckets, words, count))).isTrue();
      assertThat(decoder.kind()).isEqualTo(PublicationFrame.Kind.DELTA);
      assertThat(decoder.dcId()).isEqualTo(7);
      assertThat(decoder.epoch()).isEqualTo(epoch);
      assertThat(decoder.baseEpoch()).isEqualTo(base);
      int[] outBuckets = new int[count];
      long[] outWords = new long[count];
      assertThat(decoder.copyImages(outBuckets, outWords)).isEqualTo(count);
      assertThat(outBuckets).isEqualTo(buckets);
      assertThat(outWords).isEqualTo(words);
    }
  }

  private static Cbi1Exception failure(ThrowingCallable attempt) {
    Cbi1Exception failure = catchThrowableOfType(Cbi1Exception.class, attempt);
    assertThat(failure).isNotNull();
    return failure;
  }
}
