package io.kvrelay.api;

import java.util.HexFormat;

/**
 * A data center inside one indexer domain. Stable over relay restarts, scaling, endpoint
 * replacement and producer generations; never a network address.
 *
 * @param value unsigned 64-bit id
 */
public record DcId(long value) implements Comparable<DcId> {
  @Override
  public int compareTo(DcId other) {
    return Long.compareUnsigned(value, other.value);
  }

  /** 16 lower-case hexadecimal digits of the number. */
  @Override
  public String toString() {
    return HexFormat.of().toHexDigits(value);
  }
}
