package io.kvrelay.events.zmq;

/**
 * The largest message that is looked at; checked before memory is taken.
 *
 * @param payloadBytes bytes of one payload
 * @param events events in one batch
 * @param tokens tokens in one event
 * @param hashes block hashes in one event
 * @param textBytes bytes of one text
 * @param depth arrays and maps inside each other
 */
record WireLimits(int payloadBytes, int events, int tokens, int hashes, int textBytes, int depth) {
  static final WireLimits DEFAULT =
      new WireLimits(64 << 20, 1 << 16, 1 << 22, 1 << 20, 1 << 16, 32);

  WireLimits withPayloadBytes(int bytes) {
    return new WireLimits(bytes, events, tokens, hashes, textBytes, depth);
  }
}
