package io.kvrelay.events.zmq;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Reads MessagePack from an array, one value after another. Reusable, not thread safe, allocates
 * nothing.
 *
 * <p>Every length is checked against what is left of the input before anybody can act on it: an
 * element takes at least one byte, so a header cannot promise more than there is.
 */
final class MsgPackReader {
  /** What a value is, as far as its first byte says. */
  enum Type {
    NIL,
    BOOLEAN,
    INTEGER,
    FLOAT,
    STRING,
    BINARY,
    ARRAY,
    MAP,
    EXTENSION
  }

  private static final VarHandle SHORTS =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final Type[] TYPES = types();

  private final int maxDepth;
  private byte[] in = {};
  private int at;
  private int end;
  private boolean above63Bits;

  MsgPackReader(int maxDepth) {
    this.maxDepth = maxDepth;
  }

  private static Type[] types() {
    Type[] types = new Type[256];
    for (int b = 0; b < 256; b++) {
      types[b] = type(b);
    }
    return types;
  }

  private static Type type(int b) {
    if (b <= 0x7F || b >= 0xE0) {
      return Type.INTEGER;
    }
    if (b <= 0x8F) {
      return Type.MAP;
    }
    if (b <= 0x9F) {
      return Type.ARRAY;
    }
    if (b <= 0xBF) {
      return Type.STRING;
    }
    return switch (b) {
      case 0xC2, 0xC3 -> Type.BOOLEAN;
      case 0xC4, 0xC5, 0xC6 -> Type.BINARY;
      case 0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8 -> Type.EXTENSION;
      case 0xCA, 0xCB -> Type.FLOAT;
      case 0xCC, 0xCD, 0xCE, 0xCF, 0xD0, 0xD1, 0xD2, 0xD3 -> Type.INTEGER;
      case 0xD9, 0xDA, 0xDB -> Type.STRING;
      case 0xDC, 0xDD -> Type.ARRAY;
      case 0xDE, 0xDF -> Type.MAP;
      // 0xC0 is nil; 0xC1 is never used, and refused where the value is read.
      default -> Type.NIL;
    };
  }

  void reset(byte[] input) {
    in = input;
    at = 0;
    end = input.length;
  }

  byte[] input() {
    return in;
  }

  int position() {
    return at;
  }

  void position(int position) {
    at = position;
  }

  boolean atEnd() {
    return at == end;
  }

  /** Type of the next value. */
  Type next() throws WireFault {
    require(1);
    int b = in[at] & 0xFF;
    if (b == 0xC1) {
      throw WireFault.of(Refusal.NOT_MSGPACK);
    }
    return TYPES[b];
  }

  /** Consumes a nil if one comes next. */
  boolean nil() throws WireFault {
    require(1);
    if ((in[at] & 0xFF) != 0xC0) {
      return false;
    }
    at++;
    return true;
  }

  /** Consumes an integer: its 64 bits; {@link #isAbove63Bits} tells how to take them. */
  long integer() throws WireFault {
    require(1);
    int b = in[at] & 0xFF;
    above63Bits = false;
    if (b <= 0x7F || b >= 0xE0) {
      at++;
      return (byte) b;
    }
    int width = integerWidth(b);
    require(1 + width);
    int from = at + 1;
    at = from + width;
    return switch (b) {
      case 0xCC -> in[from] & 0xFFL;
      case 0xCD -> (short) SHORTS.get(in, from) & 0xFFFFL;
      case 0xCE -> (int) INTS.get(in, from) & 0xFFFF_FFFFL;
      case 0xCF -> unsigned((long) LONGS.get(in, from));
      case 0xD0 -> in[from];
      case 0xD1 -> (short) SHORTS.get(in, from);
      case 0xD2 -> (int) INTS.get(in, from);
      default -> (long) LONGS.get(in, from);
    };
  }

  private static int integerWidth(int b) throws WireFault {
    return switch (b) {
      case 0xCC, 0xD0 -> 1;
      case 0xCD, 0xD1 -> 2;
      case 0xCE, 0xD2 -> 4;
      case 0xCF, 0xD3 -> 8;
      default -> throw WireFault.of(Refusal.FIELD_TYPE);
    };
  }

  private long unsigned(long bits) {
    above63Bits = bits < 0;
    return bits;
  }

  /** Whether the last {@link #integer} was an unsigned one of at least 2^63. */
  boolean isAbove63Bits() {
    return above63Bits;
  }

  /** Consumes a float, or an integer where a float is meant. */
  double number() throws WireFault {
    Type type = next();
    if (type == Type.INTEGER) {
      return integer();
    }
    int b = in[at] & 0xFF;
    if (b == 0xCA) {
      require(5);
      at += 5;
      return Float.intBitsToFloat((int) INTS.get(in, at - 4));
    }
    if (b == 0xCB) {
      require(9);
      at += 9;
      return Double.longBitsToDouble((long) LONGS.get(in, at - 8));
    }
    throw WireFault.of(Refusal.FIELD_TYPE);
  }

  /** Consumes an array's header. */
  int array() throws WireFault {
    if (next() != Type.ARRAY) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    return elements(header(0x0F, 0xDC), 1);
  }

  /** Consumes a map's header: the number of its entries. */
  int map() throws WireFault {
    if (next() != Type.MAP) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    return elements(header(0x0F, 0xDE), 2);
  }

  /** Consumes the header of a text: its bytes come next. */
  int string() throws WireFault {
    if (next() != Type.STRING) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    int b = in[at] & 0xFF;
    return content(b <= 0xBF ? header(0x1F, 0) : sized(b - 0xD9));
  }

  /** Consumes the header of binary data: its bytes come next. */
  int binary() throws WireFault {
    if (next() != Type.BINARY) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    return content(sized((in[at] & 0xFF) - 0xC4));
  }

  /** Passes the content of a text or of binary data. */
  void pass(int bytes) {
    at += bytes;
  }

  /** The 64 bits that a big-endian word at an absolute position holds. */
  long word(int position) {
    return (long) LONGS.get(in, position);
  }

  private long header(int shortMask, int wide) throws WireFault {
    int b = in[at] & 0xFF;
    if (b < 0xC0) {
      at++;
      return b & shortMask;
    }
    return sized(1 + b - wide);
  }

  /** A length of 1, 2 or 4 bytes after the type byte. */
  private long sized(int widthLog) throws WireFault {
    int width = 1 << widthLog;
    require(1 + width);
    int from = at + 1;
    at = from + width;
    return switch (width) {
      case 1 -> in[from] & 0xFFL;
      case 2 -> (short) SHORTS.get(in, from) & 0xFFFFL;
      default -> (int) INTS.get(in, from) & 0xFFFF_FFFFL;
    };
  }

  private int elements(long count, int bytesEach) throws WireFault {
    if (count * bytesEach > end - at) {
      throw WireFault.of(Refusal.NOT_MSGPACK);
    }
    return (int) count;
  }

  private int content(long length) throws WireFault {
    if (length > end - at) {
      throw WireFault.of(Refusal.NOT_MSGPACK);
    }
    return (int) length;
  }

  private void require(int bytes) throws WireFault {
    if (end - at < bytes) {
      throw WireFault.of(Refusal.NOT_MSGPACK);
    }
  }

  /** Consumes one value of any kind with all it holds. */
  void skip() throws WireFault {
    skip(0);
  }

  private void skip(int depth) throws WireFault {
    if (depth > maxDepth) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    switch (next()) {
      case NIL, BOOLEAN -> at++;
      case INTEGER -> integer();
      case FLOAT -> number();
      case STRING -> pass(string());
      case BINARY -> pass(binary());
      case ARRAY -> skip(array(), depth);
      case MAP -> skip(2 * map(), depth);
      case EXTENSION -> extension();
    }
  }

  private void skip(int values, int depth) throws WireFault {
    for (int i = 0; i < values; i++) {
      skip(depth + 1);
    }
  }

  private void extension() throws WireFault {
    int b = in[at] & 0xFF;
    long length = b >= 0xD4 ? headerOfFixedExtension(b) : sized(b - 0xC7);
    pass(content(length + 1));
  }

  private long headerOfFixedExtension(int b) {
    at++;
    return 1L << (b - 0xD4);
  }
}
