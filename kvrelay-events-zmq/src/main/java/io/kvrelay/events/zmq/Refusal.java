package io.kvrelay.events.zmq;

/** Why a message or an event of an engine was not taken. */
enum Refusal {
  FRAME_COUNT("message.frame_count"),
  SEQUENCE_LENGTH("message.sequence_length"),
  NOT_MSGPACK("message.not_msgpack"),
  NOT_A_BATCH("message.not_a_batch"),
  TOO_LARGE("message.too_large"),
  OTHER_RANK("message.other_rank"),
  TWO_PUBLISHERS("message.two_publishers"),

  NOT_AN_EVENT("event.not_an_event"),
  NO_TAG("event.no_tag"),
  FIELD_MISSING("event.field_missing"),
  FIELD_TYPE("event.field_type"),
  EMPTY_HASH("event.empty_hash"),
  HASH_RANGE("event.hash_range"),
  TOKEN_RANGE("event.token_range"),
  STRING_TOKEN("event.string_token"),
  BROKEN_BIGRAM("event.broken_bigram"),
  SPARSE_STORE("event.sparse_store"),
  BLOCK_SIZE("event.block_size"),
  HASH_FORMAT("event.hash_format"),
  UNKNOWN_MEDIUM("event.unknown_medium"),
  UNKNOWN_ADAPTER("event.unknown_adapter"),
  NAMESPACE("event.namespace");

  private final String label;

  Refusal(String label) {
    this.label = label;
  }

  /** How counters and reasons name it. */
  String label() {
    return label;
  }
}
