package io.kvrelay.engine.cbi1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class Cbi1DecoderTest {
  private static final CkfFormat FORMAT = new CkfFormat(0x5EED, 1024);
  private static final byte[] D1 = Cbi1Vectors.encode(Cbi1Vectors.named("D1"));
  private static final byte[] S1 = Cbi1Vectors.encode(Cbi1Vectors.named("S1"));

  private final Cbi1Decoder decoder = new Cbi1Decoder(FORMAT);

  @Test
  void everyGoldenFrameShowsItsContent() {
    for (Json vector : Cbi1Vectors.FILE.get("vectors")) {
      byte[] frame = Cbi1Vectors.encode(vector);
      Cbi1Decoder own = new Cbi1Decoder(Cbi1Vectors.formatOf(frame));
      assertThat(own.decode(ByteBuffer.wrap(frame))).as(vector.get("name").text()).isTrue();
      assertShows(own, vector);
    }
  }

  @Test
  void acceptsEveryLeniencyVector() {
    for (Json vector : Cbi1Vectors.FILE.get("accepted_decode")) {
      Cbi1Decoder own = new Cbi1Decoder(expected(vector));
      assertThat(own.decode(ByteBuffer.wrap(Cbi1Vectors.frame(vector))))
          .as(vector.get("name").text())
          .isTrue();
      assertThat(own.error()).isNull();
      assertShows(own, vector.get("decoded"));
    }
  }

  private static void assertShows(Cbi1Decoder frame, Json content) {
    assertThat(frame.dcId()).isEqualTo(content.get("dc_id").u64());
    assertThat(frame.epoch()).isEqualTo(content.get("epoch").u64());
    if (content.get("kind").text().equals("delta")) {
      int[] buckets = Cbi1Vectors.buckets(content);
      long[] words = Cbi1Vectors.words(content);
      assertThat(frame.kind()).isEqualTo(PublicationFrame.Kind.DELTA);
      assertThat(frame.baseEpoch()).isEqualTo(content.get("base_epoch").u64());
      assertThat(frame.imageCount()).isEqualTo(buckets.length);
      int[] shownBuckets = new int[buckets.length];
      Arrays.setAll(shownBuckets, frame::bucket);
      long[] shownWords = new long[words.length];
      Arrays.setAll(shownWords, frame::word);
      assertThat(shownBuckets).isEqualTo(buckets);
      assertThat(shownWords).isEqualTo(words);
      return;
    }
    long[] words = Cbi1Vectors.chunkWords(content);
    assertThat(frame.kind()).isEqualTo(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    assertThat(frame.chunkIndex()).isEqualTo(content.get("chunk").get("index").integer());
    assertThat(frame.chunkCount()).isEqualTo(content.get("chunk").get("count").integer());
    assertThat(frame.bucketOffset()).isEqualTo((int) content.get("chunk").get("offset").u64());
    assertThat(frame.wordCount()).isEqualTo(words.length);
    long[] copied = new long[words.length + 2];
    frame.copyWords(copied, 1);
    assertThat(Arrays.copyOfRange(copied, 1, words.length + 1)).isEqualTo(words);
    for (int i = 0; i < words.length; i += 1 + words.length / 100) {
      assertThat(frame.chunkWord(i)).isEqualTo(words[i]);
    }
  }

  @Test
  void refusesEveryNegativeVectorWithItsError() {
    Set<Cbi1Error> seen = EnumSet.noneOf(Cbi1Error.class);
    for (Json vector : Cbi1Vectors.FILE.get("negative_decode")) {
      String name = vector.get("name").text();
      byte[] frame = Cbi1Vectors.frame(vector);
      assertThat(frame).as(name).hasSize(vector.get("length").integer());
      if (vector.has("frame_sha256")) {
        assertThat(Cbi1Vectors.sha256(frame)).isEqualTo(vector.get("frame_sha256").text());
      }
      Cbi1Decoder own = new Cbi1Decoder(expected(vector));
      assertThat(own.decode(ByteBuffer.wrap(frame))).as(name).isFalse();
      assertThat(own.error().title()).as(name).isEqualTo(vector.get("expect_error").text());
      if (vector.has("expect_detail")) {
        assertDetail(own.exception(), vector.get("expect_detail"));
      }
      seen.add(own.error());
    }
    assertThat(seen)
        .containsExactlyInAnyOrder(
            Cbi1Error.TRUNCATED,
            Cbi1Error.FRAME_TOO_LARGE,
            Cbi1Error.MAGIC,
            Cbi1Error.WIRE_VERSION,
            Cbi1Error.CHECKSUM,
            Cbi1Error.FORMAT_VERSION,
            Cbi1Error.FORMAT_FINGERPRINT_BITS,
            Cbi1Error.FORMAT_SLOTS_PER_BUCKET,
            Cbi1Error.FORMAT_MISMATCH,
            Cbi1Error.FLAGS,
            Cbi1Error.MALFORMED,
            Cbi1Error.DELTA_IMAGE_COUNT);
  }

  private static void assertDetail(Cbi1Exception e, Json detail) {
    if (detail.has("actual")) {
      assertThat(e.value()).isEqualTo(detail.get("actual").u64());
      assertThat(e.limit()).isEqualTo(detail.get("max").u64());
    } else {
      assertThat(e.value()).isEqualTo(detail.u64());
    }
  }

  @Test
  void theUnreachableGuardStandsAtOneChunk() {
    assertThat(Cbi1Decoder.exceedsChunk(Cbi1.CHUNK_BUCKETS)).isFalse();
    assertThat(Cbi1Decoder.exceedsChunk(Cbi1.CHUNK_BUCKETS + 1)).isTrue();
    assertThat(Cbi1Vectors.FILE.get("unreachable_decode_errors").get(0).get("error").text())
        .isEqualTo(Cbi1Error.SNAPSHOT_CHUNK_WORD_COUNT.title());
  }

  @Test
  void aHeaderAloneIsAnEmptyBodyNotATruncatedFrame() {
    for (int flags : new int[] {Cbi1.FLAG_DELTA, Cbi1.FLAG_CHUNK}) {
      byte[] frame = Arrays.copyOf(D1, Cbi1.HEADER_BYTES);
      frame[Cbi1.FLAGS_AT] = (byte) flags;
      Cbi1Vectors.sign(frame);
      assertThat(Arrays.copyOfRange(frame, 44, 48)).isEqualTo(Cbi1Vectors.hex("c294d338"));
      assertThat(decoder.decode(ByteBuffer.wrap(frame))).isFalse();
      assertThat(decoder.error()).isEqualTo(Cbi1Error.MALFORMED);
    }
  }

  @Test
  void readsFromPositionToLimitOfAnyBuffer() {
    ByteBuffer direct = ByteBuffer.allocateDirect(D1.length + 20);
    direct.put(3, D1).position(3).limit(3 + D1.length);
    ByteBuffer readOnly = ByteBuffer.wrap(D1).asReadOnlyBuffer();
    for (ByteBuffer buffer : new ByteBuffer[] {direct, direct.slice(), readOnly}) {
      int position = buffer.position();
      assertThat(decoder.decode(buffer)).isTrue();
      assertThat(decoder.bucket(1)).isEqualTo(1000);
      assertThat(decoder.word(1)).isEqualTo(42);
      assertThat(buffer.position()).isEqualTo(position);
      assertThat(buffer.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
    }
  }

  @Test
  void aBadFrameLeavesNothingToRead() {
    assertThat(decoder.decode(ByteBuffer.wrap(D1))).isTrue();
    assertThat(decoder.decode(ByteBuffer.wrap(S1))).isFalse();
    assertThatThrownBy(decoder::kind).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> decoder.word(0)).isInstanceOf(IllegalStateException.class);
    assertThat(decoder.exception())
        .hasMessage("CBI1 Format.Mismatch")
        .extracting(Cbi1Exception::reason)
        .isEqualTo(RelayErrorReason.PROTOCOL_VIOLATION);
    assertThatThrownBy(() -> decoder.decodeOrThrow(ByteBuffer.allocate(0)))
        .isInstanceOf(Cbi1Exception.class)
        .hasMessage("CBI1 Truncated");
    decoder.release();
    assertThatThrownBy(decoder::exception).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aDeltaHasNoWordsOfAChunkAndTheOtherWayRound() {
    assertThat(decoder.decode(ByteBuffer.wrap(D1))).isTrue();
    assertThatThrownBy(decoder::chunkIndex).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> decoder.word(2)).isInstanceOf(IndexOutOfBoundsException.class);
    Cbi1Decoder two = new Cbi1Decoder(new CkfFormat(0x5EED, 2));
    assertThat(two.decode(ByteBuffer.wrap(S1))).isTrue();
    assertThatThrownBy(two::baseEpoch).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> two.chunkWord(2)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> two.copyWords(new long[2], 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void decodingAllocatesNothingWhateverAFrameClaims() {
    byte[] excessive = D1.clone();
    ByteBuffer.wrap(excessive)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(Cbi1.IMAGE_COUNT_AT, Cbi1.MAX_DELTA_IMAGES + 1);
    Cbi1Vectors.sign(excessive);
    long[] target = new long[1024];
    ByteBuffer delta = ByteBuffer.wrap(D1).asReadOnlyBuffer();
    ByteBuffer chunk = new Cbi1Encoder(FORMAT, 7).snapshotChunk(1, target, 0);
    ByteBuffer refused = ByteBuffer.wrap(excessive);
    ByteBuffer oversized = ByteBuffer.allocate(Cbi1.MAX_FRAME_BYTES + 1);
    int[] buckets = new int[2];
    long[] words = new long[2];
    Runnable frames =
        () -> {
          decoder.decode(delta);
          decoder.copyImages(buckets, words);
          decoder.decode(chunk);
          decoder.copyWords(target, 0);
          decoder.decode(refused);
          decoder.decode(oversized);
        };
    assertThat(Allocations.bytes(500, frames)).isZero();
    assertThat(decoder.error()).isEqualTo(Cbi1Error.FRAME_TOO_LARGE);
    decoder.decode(refused);
    assertThat(decoder.error()).isEqualTo(Cbi1Error.DELTA_IMAGE_COUNT);
  }

  /** Long form: {@code -Dkvrelay.fuzz.frames=10000000}. */
  @Test
  void mutatedFramesEitherDecodeConsistentlyOrFailByValue() {
    Random random = Seeds.random();
    int frames = Integer.getInteger("kvrelay.fuzz.frames", 60_000);
    byte[][] seeds = {
      D1,
      S1,
      Cbi1Vectors.encode(Cbi1Vectors.named("S2")),
      Cbi1Vectors.encode(Cbi1Vectors.named("D0")),
      Cbi1Vectors.encode(Cbi1Vectors.named("D4"))
    };
    CkfFormat[] formats = Arrays.stream(seeds).map(Cbi1Vectors::formatOf).toArray(CkfFormat[]::new);
    int good = 0;
    for (int i = 0; i < frames; i++) {
      int seed = random.nextInt(seeds.length);
      byte[] frame = mutate(seeds[seed], random);
      Cbi1Decoder own = new Cbi1Decoder(formats[seed]);
      if (own.decode(ByteBuffer.wrap(frame))) {
        good++;
        readEverything(own, formats[seed].bucketCount());
      } else {
        assertThat(own.error()).isNotNull();
      }
    }
    assertThat(good).isPositive().isLessThan(frames);
  }

  private static byte[] mutate(byte[] seed, Random random) {
    int length = seed.length + (random.nextInt(4) == 0 ? random.nextInt(40) - 20 : 0);
    byte[] frame = Arrays.copyOf(seed, Math.max(0, length));
    for (int n = random.nextInt(4); n > 0 && frame.length > 0; n--) {
      frame[random.nextInt(frame.length)] = (byte) random.nextInt();
    }
    if (random.nextInt(4) != 0 && frame.length >= Cbi1.HEADER_BYTES) {
      Cbi1Vectors.sign(frame);
    }
    return frame;
  }

  private static void readEverything(Cbi1Decoder frame, int bucketCount) {
    if (frame.kind() == PublicationFrame.Kind.DELTA) {
      for (int i = 0; i < frame.imageCount(); i++) {
        assertThat(frame.bucket(i)).isBetween(0, bucketCount - 1);
        frame.word(i);
      }
      return;
    }
    assertThat(frame.bucketOffset() + frame.wordCount()).isLessThanOrEqualTo(bucketCount);
    frame.copyWords(new long[frame.wordCount()], 0);
    SnapshotAssembly assembly = new SnapshotAssembly(new CkfFormat(0, bucketCount));
    assertThat(assembly.absorb(frame)).isNotNull();
  }

  private static CkfFormat expected(Json vector) {
    return new CkfFormat(
        vector.get("expected_seed").u64(), (int) vector.get("expected_bucket_count").u64());
  }
}
