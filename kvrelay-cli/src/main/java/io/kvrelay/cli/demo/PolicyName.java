package io.kvrelay.cli.demo;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The policies that the demo compares. */
public enum PolicyName {
  /** Longest prefix under a load bound, as the router's view knows it. */
  KV,
  /** One data center after the other. */
  ROUND_ROBIN,
  /** Any data center. */
  RANDOM,
  /** The same as {@link #KV} on perfect knowledge. */
  EXACT;

  /** The name on the command line and in reports. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Reads a choice.
   *
   * @param text a label, or {@code all}
   * @return the policies, or null if the text is neither
   */
  public static @Nullable List<PolicyName> parse(String text) {
    if (text.equals("all")) {
      return List.of(values());
    }
    for (PolicyName policy : values()) {
      if (policy.label().equals(text)) {
        return List.of(policy);
      }
    }
    return null;
  }
}
