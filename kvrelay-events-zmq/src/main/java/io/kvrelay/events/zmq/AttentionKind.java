package io.kvrelay.events.zmq;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** What kind of cache a group of blocks belongs to, as vLLM names it. */
enum AttentionKind {
  /** The event does not say. */
  ABSENT("", false),
  FULL_ATTENTION("full_attention", true),
  MLA_ATTENTION("mla_attention", true),
  SINK_FULL_ATTENTION("sink_full_attention", true),
  SLIDING_WINDOW("sliding_window", false),
  SLIDING_WINDOW_MLA("sliding_window_mla", false),
  MAMBA("mamba", false),
  CHUNKED_LOCAL_ATTENTION("chunked_local_attention", false),
  ENCODER_ONLY_ATTENTION("encoder_only_attention", false),
  CROSS_ATTENTION("cross_attention", false),
  /** A name that this version does not know. */
  UNKNOWN("", false);

  private static final AttentionKind[] ALL = values();

  // Written once, and read only here.
  @SuppressWarnings("ImmutableEnumChecker")
  private final byte[] name;

  private final boolean main;

  AttentionKind(String name, boolean main) {
    this.name = name.getBytes(StandardCharsets.US_ASCII);
    this.main = main;
  }

  /** Whether blocks of this kind hold a whole prefix, so that they may enter the index. */
  boolean isMain() {
    return main;
  }

  static AttentionKind of(byte[] in, int from, int length) {
    for (AttentionKind kind : ALL) {
      if (kind.name.length > 0
          && Arrays.equals(kind.name, 0, kind.name.length, in, from, from + length)) {
        return kind;
      }
    }
    return UNKNOWN;
  }
}
