package io.kvrelay.engine.hash;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * XXH3, 64-bit, with one seed: the hash of this contract.
 *
 * <p>An instance is immutable and may be shared; it holds everything that depends on the seed
 * alone. The three fixed-size methods, for 2, 8 and 16 bytes, are the hot path of filter addressing
 * and of the sequence chain: straight-line code that reads no memory but this object. No method
 * blocks. The methods that take an {@link Xxh3Scratch} and the fixed-size ones allocate nothing.
 *
 * <p>All inputs are little-endian and all results are unsigned. Bytes are read out of arrays only.
 * A buffer without an accessible array is moved through the scratch in pieces that stay in the
 * first-level cache: a view handle over buffers would read it in place, but on JDK 17 such a handle
 * is compiled into calls, several times slower, whenever a certain class of the JDK happens not to
 * be loaded yet. The plain access of the array handles is enough: nothing here is shared while it
 * is written.
 *
 * <p>Written from the published XXH3 specification (Collet, xxHash 0.8). It is not taken from a
 * library because the one for the JVM reads memory through {@code sun.misc.Unsafe}, which newer
 * JVMs report on a host's standard error and later ones refuse; the tests compare every length
 * class with that library.
 */
public final class Xxh3 {
  /** Seed 0. */
  public static final Xxh3 UNSEEDED = new Xxh3(0);

  static final long PRIME32_1 = 0x9E3779B1L;
  static final long PRIME32_2 = 0x85EBCA77L;
  static final long PRIME32_3 = 0xC2B2AE3DL;
  static final long PRIME64_1 = 0x9E3779B185EBCA87L;
  static final long PRIME64_2 = 0xC2B2AE3D27D4EB4FL;
  static final long PRIME64_3 = 0x165667B19E3779F9L;
  static final long PRIME64_4 = 0x85EBCA77C2B2AE63L;
  static final long PRIME64_5 = 0x27D4EB2F165667C5L;
  private static final long PRIME_MX1 = 0x165667919E3779F9L;
  private static final long PRIME_MX2 = 0x9FB21C651E98DF25L;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** Longest input that needs no accumulators. */
  private static final int MAX_MIDDLE = 240;

  private final long seed;
  private final long flip0;
  private final long flip1to3;
  private final long flip4to8;
  private final long flipLow9to16;
  private final long flipHigh9to16;
  private final Xxh3Long over240;

  private Xxh3(long seed) {
    this.seed = seed;
    this.flip0 = seed ^ Xxh3Secret.word(56) ^ Xxh3Secret.word(64);
    this.flip1to3 = ((Xxh3Secret.word(0) ^ (Xxh3Secret.word(0) >>> 32)) & 0xFFFF_FFFFL) + seed;
    long mixedSeed = seed ^ ((Integer.reverseBytes((int) seed) & 0xFFFF_FFFFL) << 32);
    this.flip4to8 = (Xxh3Secret.word(8) ^ Xxh3Secret.word(16)) - mixedSeed;
    this.flipLow9to16 = (Xxh3Secret.word(24) ^ Xxh3Secret.word(32)) + seed;
    this.flipHigh9to16 = (Xxh3Secret.word(40) ^ Xxh3Secret.word(48)) - seed;
    this.over240 = new Xxh3Long(seed);
  }

  /**
   * The hash with a seed.
   *
   * @param seed any value
   * @return an instance to keep
   */
  public static Xxh3 withSeed(long seed) {
    return seed == 0 ? UNSEEDED : new Xxh3(seed);
  }

  /**
   * The seed.
   *
   * @return the seed
   */
  public long seed() {
    return seed;
  }

  /**
   * Hashes the 2 bytes of a 16-bit value.
   *
   * @param value the low 16 bits count
   * @return the hash
   */
  public long hashShort(int value) {
    long low = value & 0xFFL;
    long high = (value & 0xFF00L) >>> 8;
    return avalancheXxh64((low << 16 | high << 24 | high | 2 << 8) ^ flip1to3);
  }

  /**
   * Hashes the 8 bytes of a 64-bit value.
   *
   * @param value the value
   * @return the hash
   */
  public long hashLong(long value) {
    return rrmxmx(Long.rotateLeft(value, 32) ^ flip4to8, 8);
  }

  /**
   * Hashes the 16 bytes of two 64-bit values.
   *
   * @param first bytes 0 to 7
   * @param second bytes 8 to 15
   * @return the hash
   */
  public long hashLongs(long first, long second) {
    return mix9to16(first ^ flipLow9to16, second ^ flipHigh9to16, 16);
  }

  /**
   * Hashes a chain: each time the 16 bytes of the hash before and of the next value. The same
   * hashes as {@link #hashLongs} one after the other, but every step waits for the one before it,
   * so the order of operations is chosen for the shortest path from hash to hash: the next input is
   * formed from the halves of the last mixing step, not from their result.
   *
   * @param first the hash before the first one
   * @param values the values
   * @param from index of the first value
   * @param to index after the last one
   * @param out receives the hashes; may be {@code values} itself
   * @param outFrom where the first one goes; not above {@code from} if both are one array
   */
  public void chain(long first, long[] values, int from, int to, long[] out, int outFrom) {
    long flipLow = flipLow9to16;
    long flipHigh = flipHigh9to16;
    long low = first ^ flipLow;
    for (int i = from, o = outFrom; i < to; i++, o++) {
      long high = values[i] ^ flipHigh;
      long mixed = high + 16 + Long.reverseBytes(low) + fold(low, high);
      mixed = (mixed ^ (mixed >>> 37)) * PRIME_MX1;
      long shifted = mixed >>> 32;
      out[o] = mixed ^ shifted;
      low = (mixed ^ flipLow) ^ shifted;
    }
  }

  /**
   * Hashes a range of an array. Allocates if the range is longer than 240 bytes.
   *
   * @param source the array
   * @param offset first byte
   * @param length number of bytes
   * @return the hash
   * @throws IndexOutOfBoundsException if the range leaves the array
   */
  public long hashBytes(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    return length <= MAX_MIDDLE
        ? upTo240(source, offset, length)
        : over240.hash(source, offset, length, new long[Xxh3Long.LANES]);
  }

  /**
   * Hashes a text's UTF-8 bytes. Allocates them.
   *
   * @param text the text
   * @return the hash
   */
  public long hashUtf8(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    return hashBytes(utf8, 0, utf8.length);
  }

  /**
   * Hashes a range of an array.
   *
   * @param source the array
   * @param offset first byte
   * @param length number of bytes
   * @param scratch the caller's
   * @return the hash
   * @throws IndexOutOfBoundsException if the range leaves the array
   */
  public long hash(byte[] source, int offset, int length, Xxh3Scratch scratch) {
    Objects.checkFromIndexSize(offset, length, source.length);
    return length <= MAX_MIDDLE
        ? upTo240(source, offset, length)
        : over240.hash(source, offset, length, scratch.accumulators);
  }

  /**
   * Hashes a range of a buffer of any kind.
   *
   * @param source the buffer; position, order and contents stay as they are
   * @param offset absolute index of the first byte
   * @param length number of bytes
   * @param scratch the caller's
   * @return the hash
   * @throws IndexOutOfBoundsException if the range leaves the buffer's limit
   */
  public long hash(ByteBuffer source, int offset, int length, Xxh3Scratch scratch) {
    Objects.checkFromIndexSize(offset, length, source.limit());
    if (source.hasArray()) {
      return hash(source.array(), source.arrayOffset() + offset, length, scratch);
    }
    if (length > MAX_MIDDLE) {
      return over240.hash(source, offset, length, scratch);
    }
    source.get(offset, scratch.bytes, 0, length);
    return upTo240(scratch.bytes, 0, length);
  }

  private long upTo240(byte[] in, int at, int length) {
    if (length <= 16) {
      return upTo16(in, at, length);
    }
    return length <= 128 ? from17to128(in, at, length) : from129to240(in, at, length);
  }

  private long upTo16(byte[] in, int at, int length) {
    if (length > 8) {
      return mix9to16(u64(in, at) ^ flipLow9to16, u64(in, at + length - 8) ^ flipHigh9to16, length);
    }
    if (length >= 4) {
      return rrmxmx((u32(in, at + length - 4) + (u32(in, at) << 32)) ^ flip4to8, length);
    }
    if (length == 0) {
      return avalancheXxh64(flip0);
    }
    long first = in[at] & 0xFF;
    long middle = in[at + (length >> 1)] & 0xFF;
    long last = in[at + length - 1] & 0xFF;
    return avalancheXxh64((first << 16 | middle << 24 | last | length << 8) ^ flip1to3);
  }

  private long from17to128(byte[] in, int at, int length) {
    int end = at + length;
    long acc = length * PRIME64_1;
    if (length > 32) {
      if (length > 64) {
        if (length > 96) {
          acc += mix16(in, at + 48, 96) + mix16(in, end - 64, 112);
        }
        acc += mix16(in, at + 32, 64) + mix16(in, end - 48, 80);
      }
      acc += mix16(in, at + 16, 32) + mix16(in, end - 32, 48);
    }
    return avalanche(acc + mix16(in, at, 0) + mix16(in, end - 16, 16));
  }

  private long from129to240(byte[] in, int at, int length) {
    long acc = length * PRIME64_1;
    for (int i = 0; i < 128; i += 16) {
      acc += mix16(in, at + i, i);
    }
    acc = avalanche(acc);
    for (int i = 128; i + 16 <= length; i += 16) {
      acc += mix16(in, at + i, i - 128 + 3);
    }
    return avalanche(acc + mix16(in, at + length - 16, 136 - 17));
  }

  private long mix16(byte[] in, int at, int secretOffset) {
    return fold(
        u64(in, at) ^ (Xxh3Secret.word(secretOffset) + seed),
        u64(in, at + 8) ^ (Xxh3Secret.word(secretOffset + 8) - seed));
  }

  private static long mix9to16(long low, long high, int length) {
    return avalanche(length + Long.reverseBytes(low) + high + fold(low, high));
  }

  private static long rrmxmx(long keyed, int length) {
    long h = keyed ^ Long.rotateLeft(keyed, 49) ^ Long.rotateLeft(keyed, 24);
    h *= PRIME_MX2;
    h ^= (h >>> 35) + length;
    h *= PRIME_MX2;
    return h ^ (h >>> 28);
  }

  private static long avalancheXxh64(long value) {
    long h = (value ^ (value >>> 33)) * PRIME64_2;
    h = (h ^ (h >>> 29)) * PRIME64_3;
    return h ^ (h >>> 32);
  }

  static long avalanche(long value) {
    long h = (value ^ (value >>> 37)) * PRIME_MX1;
    return h ^ (h >>> 32);
  }

  /**
   * Both halves of the 128-bit product, folded; the two masks turn the signed high half into the
   * unsigned one.
   */
  static long fold(long a, long b) {
    return (a * b) ^ (Math.multiplyHigh(a, b) + (((a >> 63) & b) + ((b >> 63) & a)));
  }

  static long u64(byte[] in, int at) {
    return (long) LONGS.get(in, at);
  }

  private static long u32(byte[] in, int at) {
    return (int) INTS.get(in, at) & 0xFFFF_FFFFL;
  }

  @Override
  public String toString() {
    return "Xxh3[seed=" + Long.toUnsignedString(seed) + "]";
  }
}
