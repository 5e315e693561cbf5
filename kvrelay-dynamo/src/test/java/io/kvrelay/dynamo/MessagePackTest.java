package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** Our reader and writer against the library that everybody uses. */
class MessagePackTest {
  private static final long[] NUMBERS = {
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0xFFFF,
    0x10000,
    0xFFFF_FFFFL,
    0x1_0000_0000L,
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    -1
  };

  @Test
  void numbersAreWrittenInTheirShortestForm() throws Exception {
    for (long number : NUMBERS) {
      byte[] ours = new MessagePackWriter().u64(number).bytes();
      try (MessageBufferPacker theirs = MessagePack.newDefaultBufferPacker()) {
        theirs.packBigInteger(new BigInteger(Long.toUnsignedString(number)));
        assertThat(ours).isEqualTo(theirs.toByteArray());
      }
      assertThat(new MessagePackReader(ours).u64("n")).isEqualTo(number);
    }
  }

  @Test
  void positiveNumbersInSignedFormsAreReadAndNegativeOnesRefused() throws Exception {
    assertThat(read("d07f").u64("n")).isEqualTo(127);
    assertThat(read("d17fff").u64("n")).isEqualTo(0x7FFF);
    assertThat(read("d37fffffffffffffff").u64("n")).isEqualTo(Long.MAX_VALUE);
    for (String negative :
        List.of("ff", "e0", "d0ff", "d1ffff", "d2ffffffff", "d3ffffffffffffffff")) {
      assertThatThrownBy(() -> read(negative).u64("n")).isInstanceOf(MalformedException.class);
    }
    assertThatThrownBy(() -> read("cf0000000100000000").u32("n")).hasMessageContaining("32-bit");
  }

  private static MessagePackReader read(String hex) {
    return new MessagePackReader(HexFormat.of().parseHex(hex));
  }

  @Test
  void textsMapsAndListsOfEveryLengthAgree() throws Exception {
    for (int length : new int[] {0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536}) {
      String text = "é".repeat(length / 2) + "x".repeat(length % 2);
      try (MessageBufferPacker theirs = MessagePack.newDefaultBufferPacker()) {
        theirs.packString(text).packMapHeader(length).packArrayHeader(length);
        MessagePackWriter ours = new MessagePackWriter().text(text).map(length).list(length);
        assertThat(ours.bytes()).isEqualTo(theirs.toByteArray());
      }
      assertThat(new MessagePackReader(new MessagePackWriter().text(text).bytes()).text("t"))
          .isEqualTo(text);
    }
  }

  @Test
  void whateverTheLibraryWritesIsPassedOver() throws Exception {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 500; i++) {
      Value value = value(random, 0);
      try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
        packer.packValue(value);
        byte[] bytes = packer.toByteArray();
        MessagePackReader reader = new MessagePackReader(bytes);
        reader.skip();
        assertThat(reader.position())
            .as("kvrelay.seed=%d: %s", seed, value)
            .isEqualTo(bytes.length);
        byte[] part = java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length));
        assertThatThrownBy(() -> new MessagePackReader(part).skip())
            .as("kvrelay.seed=%d", seed)
            .isInstanceOf(MalformedException.class);
      }
    }
  }

  private static Value value(SplittableRandom random, int depth) {
    return switch (random.nextInt(depth > 4 ? 8 : 10)) {
      case 0 -> ValueFactory.newNil();
      case 1 -> ValueFactory.newBoolean(random.nextBoolean());
      case 2 -> ValueFactory.newInteger(random.nextLong() >> random.nextInt(64));
      case 3 -> ValueFactory.newFloat(random.nextDouble());
      case 4 -> ValueFactory.newFloat((float) random.nextDouble());
      case 5 -> ValueFactory.newString("x".repeat(random.nextInt(300)));
      case 6 -> ValueFactory.newBinary(new byte[random.nextInt(300)]);
      case 7 -> ValueFactory.newExtension((byte) 1, new byte[random.nextInt(20)]);
      case 8 -> {
        Value[] elements = new Value[random.nextInt(20)];
        java.util.Arrays.setAll(elements, i -> value(random, depth + 1));
        yield ValueFactory.newArray(elements);
      }
      default -> {
        Value[] pairs = new Value[random.nextInt(20) * 2];
        java.util.Arrays.setAll(pairs, i -> value(random, depth + 1));
        yield ValueFactory.newMap(pairs);
      }
    };
  }

  @Test
  void lengthsThatLieAreRefusedBeforeAnythingIsAllocated() {
    for (String lie :
        List.of("dfffffffff", "ddffffffff", "dbffffffff", "c6ffffffff", "c9ffffffff")) {
      assertThatThrownBy(() -> read(lie).skip()).as(lie).isInstanceOf(MalformedException.class);
    }
    assertThatThrownBy(() -> read("c1").skip()).isInstanceOf(MalformedException.class);
    assertThatThrownBy(() -> new MessagePackReader(new byte[0]).skip())
        .isInstanceOf(MalformedException.class);
    byte[] deep = new byte[100_000];
    java.util.Arrays.fill(deep, (byte) 0x91);
    assertThatThrownBy(() -> new MessagePackReader(deep).skip()).hasMessageContaining("deep");
  }

  @Test
  void jsonBecomesTheMessagePackThatSaysTheSame() throws Exception {
    String json =
        "{\"a\":[1,-2,18446744073709551615,1.5,null,true,false,\"é\"],\"b\":{},\"c\":{\"d\":[]}}";
    byte[] packed =
        JsonToMessagePack.convert(json.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    try (MessageUnpacker theirs = MessagePack.newDefaultUnpacker(packed)) {
      assertThat(theirs.unpackValue().toJson()).isEqualTo(json);
      assertThat(theirs.hasNext()).isFalse();
    }
    for (String bad :
        List.of("", "{", "{} {}", "[18446744073709551616]", "[-9223372036854775809]")) {
      assertThatThrownBy(
              () ->
                  JsonToMessagePack.convert(bad.getBytes(java.nio.charset.StandardCharsets.UTF_8)))
          .as(bad)
          .isInstanceOf(MalformedException.class);
    }
  }
}
