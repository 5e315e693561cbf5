package io.kvrelay.engine.hash;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** The default secret of XXH3: 192 bytes of entropy that the specification fixes. */
final class Xxh3Secret {
  static final int BYTES = 192;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final byte[] SECRET =
      HexFormat.of()
          .parseHex(
              "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
                  + "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
                  + "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
                  + "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
                  + "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
                  + "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e");

  private Xxh3Secret() {}

  /** The 8 bytes at any byte offset, as a little-endian word. */
  static long word(int offset) {
    return (long) LONGS.get(SECRET, offset);
  }

  /** The secret that a seed derives for inputs above 240 bytes. */
  static byte[] derive(long seed) {
    byte[] derived = new byte[BYTES];
    for (int i = 0; i < BYTES; i += 16) {
      LONGS.set(derived, i, word(i) + seed);
      LONGS.set(derived, i + 8, word(i + 8) - seed);
    }
    return derived;
  }

  /** {@code count} consecutive words from a byte offset. */
  static long[] words(byte[] secret, int offset, int count) {
    long[] words = new long[count];
    for (int i = 0; i < count; i++) {
      words[i] = (long) LONGS.get(secret, offset + 8 * i);
    }
    return words;
  }
}
