package io.kvrelay.events.zmq;

/** What is counted about one source, besides refusals and events by kind and medium. */
enum Counter {
  MESSAGES("messages"),
  BATCHES("batches"),
  EMPTY_BATCHES("batches.empty"),
  UNKNOWN_TAGS("events.unknown_tag"),
  GAPS("gaps"),
  BATCHES_MISSED("gaps.batches_missed"),
  REPLAYS_STARTED("replays.started"),
  REPLAYS_COMPLETED("replays.completed"),
  REPLAYS_TRUNCATED("replays.truncated"),
  REPLAYS_TIMED_OUT("replays.timed_out"),
  REPLAYS_MALFORMED("replays.malformed"),
  REPLAYED_BATCHES("replays.batches"),
  DUPLICATES("duplicates_dropped"),
  RESTARTS_SEQUENCE("restarts.sequence_regress"),
  RESTARTS_IDENTITY("restarts.identity"),
  RESTARTS_RECONNECT("restarts.reconnect"),
  RESETS("resets"),
  RESETS_BY_HAND("resets.by_hand"),
  CONNECTS("connects"),
  CONNECTS_FAILED("connects.failed"),
  DISCONNECTS("disconnects"),
  CLEARS("clears"),
  FILTERED_IGNORED("filtered.ignored_event"),
  FILTERED_NAMESPACE("filtered.ambiguous_cache_namespace"),
  FILTERED_KIND("filtered.non_main_attention_kind"),
  FILTERED_UNKNOWN_KIND("filtered.unknown_kind"),
  FILTERED_GROUP("filtered.non_main_attention_group"),
  FILTERED_UNLEARNED("filtered.unlearned_group_idx"),
  SPARSE_STORES("stores.sparse"),
  BLOCK_SIZE_MISMATCHES("blocks.size_mismatch"),
  SHORT_TOKEN_LISTS("stores.short_token_list"),
  EMPTY_STORES("empty_store_blocks"),
  PARTIAL_BLOCKS("blocks.partial"),
  SELF_REFERENCING("stores.self_referencing"),
  UNKNOWN_PARENTS("stores.unknown_parent"),
  UNKNOWN_PARENT_BLOCKS("blocks.unknown_parent"),
  CONFLICTING_BLOCKS("blocks.conflicting_hash"),
  BLOCKS_WITHOUT_ROOM("blocks.without_room"),
  REPEATED_BLOCKS("blocks.stored_again"),
  UNKNOWN_REMOVALS("removals.unknown"),
  HELD_REMOVALS("removals.held_back"),
  PARTIAL_REMOVALS("removals.of_partial"),
  TOKENLESS_COMPLETED("blocks.tokenless_completed"),
  TOKENLESS_DROPPED("blocks.tokenless_dropped"),
  MEMO_FULL("memo.full"),
  UNKNOWN_MEDIA("unknown_media"),
  SALTS_REFUSED("salts_refused"),
  AMBIGUOUS_KEYS("extra_keys.ambiguous"),
  POSITIONS_WITHOUT_KEY("multimodal_positions_without_key"),
  STRING_TOKENS("string_tokens"),
  UPDATED_EVENTS("trtllm.updated"),
  OTHER_WINDOWS("trtllm.other_window"),
  QUEUE_OVERFLOWS("queue.overflows"),
  EMITTED_EVENTS("emitted.events"),
  EMITTED_BLOCKS("emitted.blocks"),
  HISTORIES("history.events"),
  DUMPS("history.dumps");

  private final String label;

  Counter(String label) {
    this.label = label;
  }

  /** Its name in statistics. */
  String label() {
    return label;
  }
}
