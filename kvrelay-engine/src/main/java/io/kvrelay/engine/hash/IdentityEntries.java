package io.kvrelay.engine.hash;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The operator's explicit identity of one dimension: 1 to 32 keys with their values, in the order
 * of the keys' UTF-8 bytes.
 *
 * <p>Immutable and shareable. Keys and values are taken as they are, surrounding white space
 * included.
 */
public final class IdentityEntries {
  /** Most entries of one map. */
  public static final int MAX_ENTRIES = 32;

  /** Most UTF-8 bytes of a key. */
  public static final int MAX_KEY_BYTES = 128;

  /** Most UTF-8 bytes of a value. */
  public static final int MAX_VALUE_BYTES = 1024;

  private final Map<String, String> entries;

  private IdentityEntries(Map<String, String> entries) {
    this.entries = entries;
  }

  /**
   * Checks a map.
   *
   * @param map the entries, in any order
   * @return the entries
   * @throws IllegalArgumentException if a limit is broken
   */
  public static IdentityEntries of(Map<String, String> map) {
    Builder builder = builder();
    map.forEach(builder::put);
    return builder.build();
  }

  /**
   * Starts a map entry by entry, as a decoder does that must notice a repeated key.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects entries. Not thread safe. */
  public static final class Builder {
    private final Map<String, String> entries = new LinkedHashMap<>();

    private Builder() {}

    /**
     * Adds one entry.
     *
     * @param key the key, 1 to {@value #MAX_KEY_BYTES} UTF-8 bytes
     * @param value the value, 1 to {@value #MAX_VALUE_BYTES} UTF-8 bytes
     * @return this
     * @throws IllegalArgumentException if a length is out of bounds, the key is there already, even
     *     with an equal value, or the map is full
     */
    public Builder put(String key, String value) {
      checkLength(key, MAX_KEY_BYTES, "explicit identity key");
      checkLength(value, MAX_VALUE_BYTES, "explicit identity value of \"" + key + "\"");
      if (entries.putIfAbsent(key, value) != null) {
        throw new IllegalArgumentException(
            "explicit identity key = \"" + key + "\": must not occur twice");
      }
      if (entries.size() > MAX_ENTRIES) {
        throw new IllegalArgumentException(
            "explicit identity entries = " + entries.size() + ": must be at most " + MAX_ENTRIES);
      }
      return this;
    }

    private static void checkLength(String text, int maxBytes, String field) {
      int length = Utf8.encode(text, field).length;
      if (length < 1 || length > maxBytes) {
        throw new IllegalArgumentException(
            field
                + " = \""
                + text
                + "\": must have 1.."
                + maxBytes
                + " UTF-8 bytes, has "
                + length);
      }
    }

    /**
     * Completes the map.
     *
     * @return the entries
     * @throws IllegalArgumentException if there are none
     */
    public IdentityEntries build() {
      if (entries.isEmpty()) {
        throw new IllegalArgumentException("explicit identity entries = 0: must be at least 1");
      }
      return new IdentityEntries(Map.copyOf(entries));
    }
  }

  /**
   * The entries, unordered.
   *
   * @return an immutable map
   */
  public Map<String, String> asMap() {
    return entries;
  }

  /** Appends entry count and framed entries, in key order. */
  void writeTo(IdentityMaterial material) {
    // Not the order of String.compareTo, which puts surrogate pairs before U+E000..U+FFFF.
    TreeMap<byte[], byte[]> ordered = new TreeMap<>(Arrays::compareUnsigned);
    entries.forEach((k, v) -> ordered.put(Utf8.encode(k, "key"), Utf8.encode(v, "value")));
    material.u32(ordered.size());
    ordered.forEach((k, v) -> material.frame(k).frame(v));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof IdentityEntries that && entries.equals(that.entries);
  }

  @Override
  public int hashCode() {
    return entries.hashCode();
  }

  @Override
  public String toString() {
    return "IdentityEntries" + entries;
  }
}
