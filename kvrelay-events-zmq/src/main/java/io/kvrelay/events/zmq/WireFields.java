package io.kvrelay.events.zmq;

/**
 * Reads one event's fields. The order of the array form is vLLM's, which SGLang shares but for the
 * seventh element; the map form goes by name.
 */
final class WireFields {
  /** Elements that a store has had since its first version, the tag included. */
  private static final int STORE_ELEMENTS = 5;

  private static final WireKey[] STORE_ORDER = {
    WireKey.TYPE,
    WireKey.BLOCK_HASHES,
    WireKey.PARENT_BLOCK_HASH,
    WireKey.TOKEN_IDS,
    WireKey.BLOCK_SIZE,
    WireKey.LORA_ID,
    WireKey.MEDIUM,
    WireKey.LORA_NAME,
    WireKey.EXTRA_KEYS,
    WireKey.GROUP_IDX,
    WireKey.KV_CACHE_SPEC_KIND
  };
  private static final WireKey[] REMOVE_ORDER = {
    WireKey.TYPE, WireKey.BLOCK_HASHES, WireKey.MEDIUM, WireKey.GROUP_IDX
  };
  private static final WireKey[] CLEAR_ORDER = {WireKey.TYPE, WireKey.MEDIUM};

  private final MsgPackReader in;
  private final WireLimits limits;
  private final PullFields pull;

  WireFields(MsgPackReader in, WireLimits limits) {
    this.in = in;
    this.limits = limits;
    this.pull = new PullFields(in, limits, this);
  }

  void event(WireEvent event) throws WireFault {
    switch (in.next()) {
      case ARRAY -> arrayEvent(event);
      case MAP -> mapEvent(event);
      default -> throw WireFault.of(Refusal.NOT_AN_EVENT);
    }
  }

  private void arrayEvent(WireEvent event) throws WireFault {
    int elements = in.array();
    if (elements == 0 || in.next() != MsgPackReader.Type.STRING) {
      throw WireFault.of(Refusal.NO_TAG);
    }
    event.kind = kind(key());
    WireKey[] order = order(event.kind);
    if (elements < required(event.kind)) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
    for (int i = 1; i < elements; i++) {
      field(event, i < order.length ? order[i] : WireKey.OTHER);
    }
  }

  private static WireKey[] order(WireEvent.Kind kind) {
    return switch (kind) {
      case STORED -> STORE_ORDER;
      case REMOVED -> REMOVE_ORDER;
      case TIER_CLEARED -> CLEAR_ORDER;
      default -> new WireKey[0];
    };
  }

  private static int required(WireEvent.Kind kind) {
    return switch (kind) {
      case STORED -> STORE_ELEMENTS;
      case REMOVED, TIER_CLEARED -> 2;
      default -> 1;
    };
  }

  private static WireEvent.Kind kind(WireKey tag) {
    return switch (tag) {
      case BLOCK_STORED -> WireEvent.Kind.STORED;
      case BLOCK_REMOVED -> WireEvent.Kind.REMOVED;
      case ALL_BLOCKS_CLEARED -> WireEvent.Kind.CLEARED;
      case TIER_BLOCKS_CLEARED -> WireEvent.Kind.TIER_CLEARED;
      default -> WireEvent.Kind.UNKNOWN;
    };
  }

  private void mapEvent(WireEvent event) throws WireFault {
    int entries = in.map();
    int body = in.position();
    WireKey tag = tag(entries);
    in.position(body);
    if (tag == WireKey.DATA) {
      pull.envelope(event, entries);
      return;
    }
    event.kind = kind(tag);
    if (event.kind == WireEvent.Kind.UNKNOWN || event.kind == WireEvent.Kind.CLEARED) {
      skip(2 * entries);
      return;
    }
    int seen = 0;
    for (int i = 0; i < entries; i++) {
      WireKey key = key();
      seen |= needed(key);
      field(event, key);
    }
    if ((seen & needed(event.kind)) != needed(event.kind)) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
  }

  private static int needed(WireKey key) {
    return switch (key) {
      case BLOCK_HASHES -> 1;
      case TOKEN_IDS -> 2;
      case BLOCK_SIZE -> 4;
      case MEDIUM -> 8;
      default -> 0;
    };
  }

  private static int needed(WireEvent.Kind kind) {
    return switch (kind) {
      case STORED -> 1 | 2 | 4;
      case REMOVED -> 1;
      case TIER_CLEARED -> 8;
      default -> 0;
    };
  }

  /** The value of {@code type}, or {@link WireKey#DATA} for TensorRT-LLM's envelope. */
  private WireKey tag(int entries) throws WireFault {
    boolean hasData = false;
    for (int i = 0; i < entries; i++) {
      WireKey key = key();
      if (key == WireKey.TYPE) {
        if (in.next() != MsgPackReader.Type.STRING) {
          throw WireFault.of(Refusal.NO_TAG);
        }
        return key();
      }
      hasData |= key == WireKey.DATA && in.next() == MsgPackReader.Type.MAP;
      in.skip();
    }
    if (!hasData) {
      throw WireFault.of(Refusal.NO_TAG);
    }
    return WireKey.DATA;
  }

  /** Reads a text that may be a key; anything else is passed over as an unknown key. */
  WireKey key() throws WireFault {
    if (in.next() != MsgPackReader.Type.STRING) {
      in.skip();
      return WireKey.OTHER;
    }
    int length = in.string();
    WireKey key = WireKey.find(in.input(), in.position(), length);
    in.pass(length);
    return key;
  }

  private void field(WireEvent event, WireKey key) throws WireFault {
    switch (key) {
      case BLOCK_HASHES -> hashes(event);
      case PARENT_BLOCK_HASH -> parent(event);
      case TOKEN_IDS -> tokens(event);
      case BLOCK_SIZE -> event.blockSize = count();
      case LORA_ID -> loraId(event);
      case MEDIUM -> medium(event);
      case LORA_NAME -> loraName(event);
      case METADATA -> metadata(event);
      case EXTRA_KEYS -> extraKeys(event);
      case GROUP_IDX -> group(event);
      case KV_CACHE_SPEC_KIND -> attention(event);
      case MM_KEYS -> objectKeys(event);
      default -> in.skip();
    }
  }

  void hashes(WireEvent event) throws WireFault {
    int count = in.array();
    if (count > limits.hashes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    event.roomForHashes(count);
    for (int i = 0; i < count; i++) {
      event.hashes[i] = hash();
    }
    event.hashCount = count;
  }

  void parent(WireEvent event) throws WireFault {
    event.hasParent = !in.nil();
    event.parent = event.hasParent ? hash() : 0;
  }

  /** An integer's 64 bits, or the last 8 bytes of a digest. */
  long hash() throws WireFault {
    MsgPackReader.Type type = in.next();
    if (type == MsgPackReader.Type.INTEGER) {
      return in.integer();
    }
    if (type == MsgPackReader.Type.EXTENSION || type == MsgPackReader.Type.FLOAT) {
      throw WireFault.of(Refusal.HASH_RANGE);
    }
    int length = in.binary();
    if (length == 0) {
      throw WireFault.of(Refusal.EMPTY_HASH);
    }
    int from = in.position();
    in.pass(length);
    if (length >= Long.BYTES) {
      return in.word(from + length - Long.BYTES);
    }
    long hash = 0;
    for (int i = 0; i < length; i++) {
      hash = hash << 8 | (in.input()[from + i] & 0xFF);
    }
    return hash;
  }

  private void tokens(WireEvent event) throws WireFault {
    int count = in.array();
    if (count > limits.tokens()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    event.roomForTokens(count + 1);
    event.tokenCount = 0;
    event.textTokenCount = 0;
    event.pairs = count > 0 && in.next() == MsgPackReader.Type.ARRAY;
    if (event.pairs) {
      pairs(event, count);
      return;
    }
    int[] tokens = event.tokens;
    for (int i = 0; i < count; i++) {
      if (in.next() == MsgPackReader.Type.STRING) {
        in.pass(text());
        event.addTextToken(i);
        tokens[i] = 0;
      } else {
        tokens[i] = token();
      }
    }
    event.tokenCount = count;
  }

  private void pairs(WireEvent event, int count) throws WireFault {
    int[] tokens = event.tokens;
    for (int i = 0; i < count; i++) {
      if (in.array() != 2) {
        throw WireFault.of(Refusal.FIELD_TYPE);
      }
      int first = token();
      if (i == 0) {
        tokens[0] = first;
      } else if (tokens[i] != first) {
        throw WireFault.of(Refusal.BROKEN_BIGRAM);
      }
      tokens[i + 1] = token();
    }
    event.tokenCount = count + 1;
  }

  int token() throws WireFault {
    long value = in.integer();
    if ((value >>> 32) != 0) {
      throw WireFault.of(Refusal.TOKEN_RANGE);
    }
    return (int) value;
  }

  /** A count that fits 32 bits. */
  private long count() throws WireFault {
    long value = in.integer();
    if (value < 0 || value > 0xFFFF_FFFFL) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    return value;
  }

  private void loraId(WireEvent event) throws WireFault {
    event.hasLoraId = !in.nil();
    event.loraId = event.hasLoraId ? in.integer() : 0;
  }

  void medium(WireEvent event) throws WireFault {
    if (in.nil()) {
      event.medium = Medium.UNTAGGED;
      return;
    }
    int length = text();
    event.medium = Medium.of(in.input(), in.position(), length);
    in.pass(length);
  }

  /** A name; SGLang's map of metadata stands in the same place of an array. */
  private void loraName(WireEvent event) throws WireFault {
    if (in.next() == MsgPackReader.Type.MAP) {
      metadata(event);
      return;
    }
    if (in.nil()) {
      event.loraNameLength = WireEvent.NO_TEXT;
      return;
    }
    event.loraNameLength = text();
    event.loraNameFrom = in.position();
    in.pass(event.loraNameLength);
  }

  private void metadata(WireEvent event) throws WireFault {
    if (in.nil()) {
      return;
    }
    int entries = in.map();
    for (int i = 0; i < entries; i++) {
      if (key() == WireKey.CACHE_SALT) {
        salt(event);
      } else {
        in.skip();
      }
    }
  }

  private void salt(WireEvent event) throws WireFault {
    if (in.nil()) {
      event.saltLength = WireEvent.NO_TEXT;
      return;
    }
    if (in.next() != MsgPackReader.Type.STRING) {
      in.skip();
      event.saltLength = WireEvent.NOT_A_TEXT;
      return;
    }
    event.saltLength = text();
    event.saltFrom = in.position();
    in.pass(event.saltLength);
  }

  private void group(WireEvent event) throws WireFault {
    event.hasGroup = !in.nil();
    event.group = event.hasGroup ? count() : 0;
  }

  private void attention(WireEvent event) throws WireFault {
    if (in.nil()) {
      event.attention = AttentionKind.ABSENT;
      return;
    }
    int length = text();
    event.attention = AttentionKind.of(in.input(), in.position(), length);
    in.pass(length);
  }

  private void extraKeys(WireEvent event) throws WireFault {
    event.extraKeys.clear();
    if (in.nil()) {
      return;
    }
    int blocks = in.array();
    if (blocks > limits.hashes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    for (int i = 0; i < blocks; i++) {
      if (!in.nil()) {
        int items = in.array();
        for (int j = 0; j < items; j++) {
          extraKey(event.extraKeys);
        }
      }
      event.extraKeys.endBlock();
    }
  }

  private void extraKey(TextSpans keys) throws WireFault {
    switch (in.next()) {
      case NIL -> in.skip();
      case STRING -> {
        int length = text();
        keys.add(TextSpans.TEXT, in.position(), length, 0);
        in.pass(length);
      }
      case INTEGER -> keys.add(TextSpans.NUMBER, 0, 0, in.integer());
      case ARRAY -> textAndNumber(keys);
      default -> {
        in.skip();
        keys.add(TextSpans.OTHER, 0, 0, 0);
      }
    }
  }

  private void textAndNumber(TextSpans keys) throws WireFault {
    int start = in.position();
    if (in.array() == 2 && in.next() == MsgPackReader.Type.STRING) {
      int length = text();
      int from = in.position();
      in.pass(length);
      if (in.next() == MsgPackReader.Type.INTEGER) {
        keys.add(TextSpans.TEXT_WITH_NUMBER, from, length, in.integer());
        return;
      }
    }
    in.position(start);
    in.skip();
    keys.add(TextSpans.OTHER, 0, 0, 0);
  }

  /** TensorRT-LLM's multimodal keys: per block a list of maps. */
  private void objectKeys(WireEvent event) throws WireFault {
    event.objectKeys.clear();
    if (in.nil()) {
      return;
    }
    int blocks = in.array();
    if (blocks > limits.hashes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    for (int i = 0; i < blocks; i++) {
      objectKeysOfBlock(event);
    }
  }

  void objectKeysOfBlock(WireEvent event) throws WireFault {
    if (!in.nil()) {
      int items = in.array();
      for (int j = 0; j < items; j++) {
        objectKey(event.objectKeys);
      }
    }
    event.objectKeys.endBlock();
  }

  private void objectKey(TextSpans keys) throws WireFault {
    int entries = in.map();
    boolean found = false;
    for (int i = 0; i < entries; i++) {
      if (key() == WireKey.HASH) {
        int length = text();
        keys.add(TextSpans.TEXT, in.position(), length, 0);
        in.pass(length);
        found = true;
      } else {
        in.skip();
      }
    }
    if (!found) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
  }

  /** The header of a text of bounded length. */
  private int text() throws WireFault {
    int length = in.string();
    if (length > limits.textBytes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    return length;
  }

  private void skip(int values) throws WireFault {
    for (int i = 0; i < values; i++) {
      in.skip();
    }
  }
}
