package io.kvrelay.api;

import org.jspecify.annotations.Nullable;

/** Where an engine keeps a block. Only {@link #DEVICE} blocks enter the primary index. */
public enum StorageTier {
  /** GPU memory. */
  DEVICE("device"),
  /** Pinned host memory. */
  HOST_PINNED("host_pinned"),
  /** Local storage. */
  DISK("disk"),
  /** Storage shared beyond the worker. */
  EXTERNAL("external");

  private final String wireName;

  StorageTier(String wireName) {
    this.wireName = wireName;
  }

  /**
   * The name in an encoded event.
   *
   * @return the name
   */
  public String wireName() {
    return wireName;
  }

  /**
   * The tier with an encoded event's name.
   *
   * @param wireName the name, matched exactly
   * @return the tier, or null if there is none
   */
  public static @Nullable StorageTier ofWireName(String wireName) {
    for (StorageTier tier : values()) {
      if (tier.wireName.equals(wireName)) {
        return tier;
      }
    }
    return null;
  }

  /**
   * The tier of an engine's {@code medium}.
   *
   * @param medium the engine's name, matched exactly; null means the device
   * @return the tier, or null if the name is unknown and the event has to be dropped
   */
  public static @Nullable StorageTier ofMedium(@Nullable String medium) {
    if (medium == null) {
      return DEVICE;
    }
    return switch (medium) {
      case "GPU", "DEVICE" -> DEVICE;
      case "CPU", "CPU_PINNED", "CPU_TIER1" -> HOST_PINNED;
      case "CPU_TIER2", "DISK", "NVME", "STORAGE" -> DISK;
      case "EXTERNAL", "NETWORK", "REMOTE", "SHARED" -> EXTERNAL;
      default -> null;
    };
  }

  /**
   * The engine's {@code medium} that stands for this tier.
   *
   * @return the name, or null where the engine leaves it out
   */
  public @Nullable String medium() {
    return switch (this) {
      case DEVICE -> null;
      case HOST_PINNED -> "CPU_PINNED";
      case DISK -> "DISK";
      case EXTERNAL -> "EXTERNAL";
    };
  }
}
