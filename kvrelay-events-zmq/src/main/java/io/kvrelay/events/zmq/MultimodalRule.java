package io.kvrelay.events.zmq;

/**
 * Which of an event's extra keys name a multimodal object. Both sides of a deployment, those who
 * hash requests and those who hash events, must use one rule.
 */
public enum MultimodalRule {
  /**
   * 64 hexadecimal digits give their first 16; any other text that comes with an offset is hashed.
   */
  ANY_IDENTIFIER,
  /**
   * Only 16 hexadecimal digits followed by 48 zeros count; other keys with an offset are passed
   * over. What the reference implementation does up to 1.6.1.
   */
  PADDED_DIGEST
}
