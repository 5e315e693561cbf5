package io.kvrelay.engine.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import net.openhft.hashing.LongHashFunction;
import org.junit.jupiter.api.Test;

class Xxh3Test {
  private static final Json VECTORS = Json.resource("/vectors/hash_vectors.json");
  private static final Xxh3Scratch SCRATCH = new Xxh3Scratch();
  private static final long[] SEEDS = {
    0, 1, 1337, -1, Long.MIN_VALUE, 0x5DEECE66D1B54A33L, 0x5DEECE66D1B54A33L ^ 0x9E3779B97F4A7C15L
  };

  @Test
  void equalsEveryVector() {
    assertThat(VECTORS.get("xxh3").size()).isEqualTo(68);
    for (Json vector : VECTORS.get("xxh3")) {
      byte[] input =
          vector.has("input_hex")
              ? HexFormat.of().parseHex(vector.get("input_hex").text())
              : vector.get("input_utf8").text().getBytes(StandardCharsets.UTF_8);
      Xxh3 hash = Xxh3.withSeed(vector.get("seed").u64());
      assertThat(hash.hashBytes(input, 0, input.length))
          .as("%s bytes, seed %s", input.length, vector.get("seed"))
          .isEqualTo(vector.get("expect").u64());
    }
  }

  @Test
  void equalsTheReferenceLibraryForEveryLengthClassAndSeed() {
    Random random = Seeds.random();
    byte[] bytes = new byte[5000];
    random.nextBytes(bytes);
    for (long seed : SEEDS) {
      Xxh3 hash = Xxh3.withSeed(seed);
      LongHashFunction library = library(seed);
      for (int length = 0; length < 4800; length += length < 1100 ? 1 : 61) {
        int offset = random.nextInt(200);
        assertThat(hash.hashBytes(bytes, offset, length))
            .as("seed %s, length %s", seed, length)
            .isEqualTo(library.hashBytes(bytes, offset, length));
      }
    }
  }

  @Test
  void fixedSizeHashesEqualTheReferenceLibrary() {
    Random random = Seeds.random();
    for (int i = 0; i < 20_000; i++) {
      long seed = i < SEEDS.length ? SEEDS[i] : random.nextLong();
      long a = random.nextLong();
      long b = random.nextLong();
      Xxh3 hash = Xxh3.withSeed(seed);
      LongHashFunction library = library(seed);
      assertThat(hash.hashShort((int) a)).isEqualTo(library.hashShort((short) a));
      assertThat(hash.hashLong(a)).isEqualTo(library.hashLong(a));
      assertThat(hash.hashLongs(a, b)).isEqualTo(library.hashLongs(new long[] {a, b}));
    }
  }

  @Test
  void everyKindOfBufferGivesTheSameHashAndKeepsItsState() {
    byte[] bytes = new byte[70_000];
    Seeds.random().nextBytes(bytes);
    ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
    direct.put(0, bytes);
    ByteBuffer readOnly = ByteBuffer.wrap(bytes).asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    readOnly.position(11);
    for (int length : new int[] {0, 3, 7, 16, 100, 200, 241, 2900, 8192, 8193, 16_384, 69_900}) {
      long expected = Xxh3.UNSEEDED.hashBytes(bytes, 50, length);
      assertThat(expected).isEqualTo(library(0).hashBytes(bytes, 50, length));
      assertThat(Xxh3.UNSEEDED.hash(bytes, 50, length, SCRATCH)).isEqualTo(expected);
      assertThat(Xxh3.UNSEEDED.hash(ByteBuffer.wrap(bytes, 40, 9).slice().limit(9), 0, 9, SCRATCH))
          .isEqualTo(Xxh3.UNSEEDED.hashBytes(bytes, 40, 9));
      assertThat(Xxh3.UNSEEDED.hash(direct, 50, length, SCRATCH)).isEqualTo(expected);
      assertThat(Xxh3.UNSEEDED.hash(readOnly, 50, length, SCRATCH)).isEqualTo(expected);
    }
    assertThat(readOnly.position()).isEqualTo(11);
    assertThat(readOnly.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(direct.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
  }

  @Test
  void refusesARangeThatLeavesTheInput() {
    assertThatThrownBy(() -> Xxh3.UNSEEDED.hashBytes(new byte[8], 4, 5))
        .isInstanceOf(IndexOutOfBoundsException.class);
    ByteBuffer limited = ByteBuffer.allocate(100).limit(40);
    assertThatThrownBy(() -> Xxh3.UNSEEDED.hash(limited, 0, 41, SCRATCH))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void allocatesNothing() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(2000);
    byte[] array = new byte[2001];
    Xxh3 hash = Xxh3.withSeed(42);
    long[] sink = new long[1];
    Runnable every =
        () -> {
          long sum = hash.hashShort(7) + hash.hashLong(7) + hash.hashLongs(7, 8);
          for (int length = 0; length < 2000; length += 100) {
            sum += hash.hash(buffer, 0, length, SCRATCH) + hash.hash(array, 1, length, SCRATCH);
          }
          sink[0] += sum;
        };
    assertThat(Allocations.bytes(2_000, every)).isZero();
  }

  private static LongHashFunction library(long seed) {
    return seed == 0 ? LongHashFunction.xx3() : LongHashFunction.xx3(seed);
  }
}
