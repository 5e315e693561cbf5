package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;

/**
 * An endpoint of a membership view.
 *
 * @param generation grows whenever the content of any endpoint changes, and is never used twice
 *     within a relay; at least 1
 * @param content what its cards come to
 */
public record EndpointMembership(long generation, EndpointContent content) {
  /**
   * The endpoint.
   *
   * @return its id
   */
  public EndpointId endpoint() {
    return content.endpoint();
  }
}
