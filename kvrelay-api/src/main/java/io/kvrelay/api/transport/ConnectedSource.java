package io.kvrelay.api.transport;

import io.kvrelay.api.RelayPublicationSource;
import java.net.URI;

/**
 * A remote source, mirrored. Closing it cancels its streams and frees the connection. Thread safe.
 */
public interface ConnectedSource extends RelayPublicationSource, AutoCloseable {
  /**
   * What it is connected to.
   *
   * @return the address
   */
  URI address();

  /** Disconnects: open streams complete. Idempotent; does not block on the peer. */
  @Override
  void close();
}
