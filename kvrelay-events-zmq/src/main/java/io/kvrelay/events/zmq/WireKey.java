package io.kvrelay.events.zmq;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Keys of maps and tags of events, found by their bytes without making a text of them. */
enum WireKey {
  TS("ts"),
  EVENTS("events"),
  DATA_PARALLEL_RANK("data_parallel_rank"),
  ATTN_DP_RANK("attn_dp_rank"),
  TYPE("type"),
  BLOCK_HASHES("block_hashes"),
  PARENT_BLOCK_HASH("parent_block_hash"),
  TOKEN_IDS("token_ids"),
  BLOCK_SIZE("block_size"),
  LORA_ID("lora_id"),
  MEDIUM("medium"),
  LORA_NAME("lora_name"),
  EXTRA_KEYS("extra_keys"),
  GROUP_IDX("group_idx"),
  KV_CACHE_SPEC_KIND("kv_cache_spec_kind"),
  METADATA("metadata"),
  CACHE_SALT("cache_salt"),
  MM_KEYS("mm_keys"),
  HASH("hash"),
  DATA("data"),
  WINDOW_SIZE("window_size"),
  ATTENTION_DP_RANK("attention_dp_rank"),
  PARENT_HASH("parent_hash"),
  BLOCKS("blocks"),
  BLOCK_HASH("block_hash"),
  TOKENS("tokens"),
  TOKEN_ID("token_id"),
  CACHE_LEVEL("cache_level"),
  BLOCK_STORED("BlockStored"),
  BLOCK_REMOVED("BlockRemoved"),
  ALL_BLOCKS_CLEARED("AllBlocksCleared"),
  TIER_BLOCKS_CLEARED("TierBlocksCleared"),
  CREATED("created"),
  STORED("stored"),
  REMOVED("removed"),
  UPDATED("updated"),
  /** Any other text. */
  OTHER("");

  private static final int SLOTS = 256;
  private static final @Nullable WireKey[] TABLE = table();

  // Written once, and read only here.
  @SuppressWarnings("ImmutableEnumChecker")
  private final byte[] bytes;

  WireKey(String text) {
    this.bytes = text.getBytes(StandardCharsets.US_ASCII);
  }

  private static @Nullable WireKey[] table() {
    @Nullable WireKey[] table = new @Nullable WireKey[SLOTS];
    for (WireKey key : values()) {
      if (key == OTHER) {
        continue;
      }
      int slot = slot(key.bytes, 0, key.bytes.length);
      while (table[slot] != null) {
        slot = (slot + 1) & (SLOTS - 1);
      }
      table[slot] = key;
    }
    return table;
  }

  private static int slot(byte[] in, int from, int length) {
    int middle = in[from + (length >>> 1)];
    int mixed = in[from] * 31 + middle * 131 + in[from + length - 1] * 7 + length * 17;
    return mixed & (SLOTS - 1);
  }

  /** The key with these bytes, or {@link #OTHER}. */
  static WireKey find(byte[] in, int from, int length) {
    if (length == 0) {
      return OTHER;
    }
    int slot = slot(in, from, length);
    for (WireKey key = TABLE[slot]; key != null; key = TABLE[slot]) {
      if (Arrays.equals(key.bytes, 0, key.bytes.length, in, from, from + length)) {
        return key;
      }
      slot = (slot + 1) & (SLOTS - 1);
    }
    return OTHER;
  }
}
