package io.kvrelay.events.zmq;

/**
 * Decodes one payload of an engine's stream: batches and events as arrays or maps, in any mixture,
 * with fields missing at the end, unknown ones anywhere, and nil wherever a field is optional.
 *
 * <p>A payload is decoded to its end before anything of it is applied, so what is not MessagePack
 * is refused whole. An event that cannot be read is marked, and its neighbours are read.
 *
 * <p>Reusable, not thread safe; allocates nothing once its batch has grown.
 */
final class WireDecoder {
  private final WireLimits limits;
  private final MsgPackReader in;
  private final WireBatch batch = new WireBatch();
  private final WireFields fields;

  WireDecoder(WireLimits limits) {
    this.limits = limits;
    this.in = new MsgPackReader(limits.depth());
    this.fields = new WireFields(in, limits);
  }

  /**
   * Decodes a payload.
   *
   * @return the batch, overwritten by the next call
   * @throws WireFault if the message has to be refused
   */
  WireBatch decode(byte[] payload) throws WireFault {
    if (payload.length > limits.payloadBytes()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    in.reset(payload);
    batch.reset(payload);
    try {
      switch (in.next()) {
        case ARRAY -> batchArray();
        case MAP -> batchMap();
        default -> throw WireFault.of(Refusal.NOT_A_BATCH);
      }
    } catch (WireFault fault) {
      throw fault.spoilsMessage() ? fault : WireFault.of(Refusal.NOT_A_BATCH);
    }
    if (!in.atEnd()) {
      throw WireFault.of(Refusal.NOT_MSGPACK);
    }
    return batch;
  }

  private void batchArray() throws WireFault {
    int elements = in.array();
    if (elements < 2) {
      throw WireFault.of(Refusal.NOT_A_BATCH);
    }
    batch.timestamp = in.number();
    events();
    if (elements > 2) {
      rank();
    }
    for (int i = 3; i < elements; i++) {
      in.skip();
    }
  }

  private void batchMap() throws WireFault {
    int entries = in.map();
    boolean hasTimestamp = false;
    boolean hasEvents = false;
    for (int i = 0; i < entries; i++) {
      switch (fields.key()) {
        case TS -> {
          batch.timestamp = in.number();
          hasTimestamp = true;
        }
        case EVENTS -> {
          if (hasEvents) {
            throw WireFault.of(Refusal.NOT_A_BATCH);
          }
          events();
          hasEvents = true;
        }
        case DATA_PARALLEL_RANK, ATTN_DP_RANK -> rank();
        default -> in.skip();
      }
    }
    if (!hasTimestamp || !hasEvents) {
      throw WireFault.of(Refusal.NOT_A_BATCH);
    }
  }

  private void rank() throws WireFault {
    if (in.nil()) {
      return;
    }
    long value = in.integer();
    if (value < 0 || value > 0xFFFF_FFFFL) {
      throw WireFault.of(Refusal.NOT_A_BATCH);
    }
    batch.hasRank = true;
    batch.rank = (int) value;
  }

  private void events() throws WireFault {
    int events = in.array();
    if (events > limits.events()) {
      throw WireFault.of(Refusal.TOO_LARGE);
    }
    for (int i = 0; i < events; i++) {
      int start = in.position();
      WireEvent event = batch.add();
      try {
        fields.event(event);
      } catch (WireFault fault) {
        if (fault.spoilsMessage()) {
          throw fault;
        }
        event.refusal = fault.refusal();
        in.position(start);
        in.skip();
      }
    }
  }
}
