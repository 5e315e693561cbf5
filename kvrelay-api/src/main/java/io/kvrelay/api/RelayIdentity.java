package io.kvrelay.api;

/**
 * One life of one relay.
 *
 * @param instanceId the runtime instance that hosts the relay; may outlive the relay
 * @param incarnation drawn anew at each relay start, 63 random bits
 */
public record RelayIdentity(long instanceId, long incarnation) {
  /** Both numbers, unsigned, for logs. */
  @Override
  public String toString() {
    return Long.toUnsignedString(instanceId) + "/" + Long.toUnsignedString(incarnation);
  }
}
