package io.kvrelay.events.zmq;

/**
 * Reads TensorRT-LLM's own event objects, which are polled from the engine and may be published as
 * they are: an envelope with the event's data, the window it belongs to, and blocks one by one.
 */
final class PullFields {
  private final MsgPackReader in;
  private final WireLimits limits;
  private final WireFields fields;

  PullFields(MsgPackReader in, WireLimits limits, WireFields fields) {
    this.in = in;
    this.limits = limits;
    this.fields = fields;
  }

  void envelope(WireEvent event, int entries) throws WireFault {
    for (int i = 0; i < entries; i++) {
      switch (fields.key()) {
        case DATA -> data(event);
        case WINDOW_SIZE -> event.window = in.nil() ? 0 : in.integer();
        default -> in.skip();
      }
    }
  }

  private void data(WireEvent event) throws WireFault {
    int entries = in.map();
    int body = in.position();
    event.kind = kind(entries);
    in.position(body);
    boolean complete = event.kind != WireEvent.Kind.STORED && event.kind != WireEvent.Kind.REMOVED;
    for (int i = 0; i < entries; i++) {
      WireKey key = fields.key();
      if (event.kind == WireEvent.Kind.STORED && key == WireKey.PARENT_HASH) {
        fields.parent(event);
      } else if (event.kind == WireEvent.Kind.STORED && key == WireKey.BLOCKS) {
        blocks(event);
        complete = true;
      } else if (event.kind == WireEvent.Kind.REMOVED && key == WireKey.BLOCK_HASHES) {
        fields.hashes(event);
        complete = true;
      } else {
        in.skip();
      }
    }
    if (!complete) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
  }

  private WireEvent.Kind kind(int entries) throws WireFault {
    for (int i = 0; i < entries; i++) {
      if (fields.key() == WireKey.TYPE) {
        return switch (fields.key()) {
          case CREATED -> WireEvent.Kind.CREATED;
          case STORED -> WireEvent.Kind.STORED;
          case REMOVED -> WireEvent.Kind.REMOVED;
          case UPDATED -> WireEvent.Kind.UPDATED;
          default -> WireEvent.Kind.UNKNOWN;
        };
      }
      in.skip();
    }
    throw WireFault.of(Refusal.NO_TAG);
  }

  private void blocks(WireEvent event) throws WireFault {
    int blocks = in.array();
    if (blocks > limits.hashes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    event.roomForHashes(blocks);
    event.hashCount = blocks;
    boolean whole = true;
    for (int i = 0; i < blocks; i++) {
      int tokens = block(event, i, whole);
      if (i == 0) {
        event.blockSize = tokens;
      }
      // A shorter block ends what can be cut; a longer one would shift what follows.
      whole &= tokens == event.blockSize;
    }
  }

  /** Reads one block; its tokens count only while all blocks before it were whole. */
  private int block(WireEvent event, int index, boolean keepTokens) throws WireFault {
    int entries = in.map();
    boolean hasHash = false;
    int tokens = 0;
    int spans = event.objectKeys.blocks();
    for (int i = 0; i < entries; i++) {
      switch (fields.key()) {
        case BLOCK_HASH -> {
          event.hashes[index] = fields.hash();
          hasHash = true;
        }
        case TOKENS -> tokens = tokens(event, keepTokens);
        case CACHE_LEVEL -> level(event, index);
        case MM_KEYS -> fields.objectKeysOfBlock(event);
        default -> in.skip();
      }
    }
    if (!hasHash) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
    if (event.objectKeys.blocks() == spans) {
      event.objectKeys.endBlock();
    }
    return tokens;
  }

  private int tokens(WireEvent event, boolean keep) throws WireFault {
    int count = in.array();
    if (count > limits.tokens() - event.tokenCount) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    int kept = event.tokenCount;
    event.roomForTokens(kept + count);
    for (int i = 0; i < count; i++) {
      token(event, kept + i);
    }
    if (keep) {
      event.tokenCount = kept + count;
    }
    return count;
  }

  private void token(WireEvent event, int index) throws WireFault {
    int entries = in.map();
    boolean found = false;
    for (int i = 0; i < entries; i++) {
      if (fields.key() != WireKey.TOKEN_ID) {
        in.skip();
      } else if (in.next() == MsgPackReader.Type.STRING) {
        in.skip();
        event.addTextToken(index);
        event.tokens[index] = 0;
        found = true;
      } else {
        event.tokens[index] = fields.token();
        found = true;
      }
    }
    if (!found) {
      throw WireFault.of(Refusal.FIELD_MISSING);
    }
  }

  /** Level 0 is the device, 1 the host. Blocks of one event lie on one level. */
  private void level(WireEvent event, int index) throws WireFault {
    if (in.nil()) {
      return;
    }
    long level = in.integer();
    if (level < 0 || level > 1) {
      throw WireFault.of(Refusal.UNKNOWN_MEDIUM);
    }
    Medium medium = level == 0 ? Medium.GPU : Medium.CPU;
    if (index > 0 && medium != event.medium && event.medium != Medium.UNTAGGED) {
      throw WireFault.of(Refusal.FIELD_TYPE);
    }
    event.medium = medium;
  }
}
