package io.kvrelay.events.zmq;

import io.kvrelay.api.StorageTier;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A storage medium by the name that engines give it. */
enum Medium {
  /** Nil, or no field at all: the device. */
  UNTAGGED(null),
  GPU("GPU"),
  DEVICE("DEVICE"),
  CPU("CPU"),
  CPU_PINNED("CPU_PINNED"),
  CPU_TIER1("CPU_TIER1"),
  CPU_TIER2("CPU_TIER2"),
  DISK("DISK"),
  NVME("NVME"),
  STORAGE("STORAGE"),
  EXTERNAL("EXTERNAL"),
  NETWORK("NETWORK"),
  REMOTE("REMOTE"),
  SHARED("SHARED"),
  /** Any other name: never taken for the device. */
  UNKNOWN(null);

  private static final Medium[] ALL = values();

  // Written once, and read only here.
  @SuppressWarnings("ImmutableEnumChecker")
  private final byte[] wireName;

  private final @Nullable StorageTier tier;

  Medium(@Nullable String wireName) {
    this.wireName = wireName == null ? new byte[0] : wireName.getBytes(StandardCharsets.US_ASCII);
    this.tier = name().equals("UNKNOWN") ? null : StorageTier.ofMedium(wireName);
  }

  /** The tier; null for a name that nobody knows. */
  @Nullable StorageTier tier() {
    return tier;
  }

  /** How counters name it. */
  String label() {
    return this == UNTAGGED || this == UNKNOWN ? name().toLowerCase(Locale.ROOT) : name();
  }

  static Medium of(byte[] in, int from, int length) {
    for (Medium medium : ALL) {
      byte[] name = medium.wireName;
      if (name.length > 0 && Arrays.equals(name, 0, name.length, in, from, from + length)) {
        return medium;
      }
    }
    return UNKNOWN;
  }
}
