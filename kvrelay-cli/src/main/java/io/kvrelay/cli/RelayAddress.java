package io.kvrelay.cli;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.RelayTransports;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.concurrent.CompletionException;

/** Addresses on the command line. */
final class RelayAddress {
  private RelayAddress() {}

  /**
   * Reads an address.
   *
   * @param label what the user calls it: an option or a parameter
   * @param text the address
   * @return the address, of a scheme that some transport serves
   * @throws InputException if it is none
   */
  static URI parse(String label, String text) {
    try {
      URI address = new URI(text);
      RelayTransports.forAddress(address);
      return address;
    } catch (URISyntaxException e) {
      throw new InputException(label + " = " + text + ": " + e.getReason(), e);
    } catch (RelayException e) {
      throw new InputException(label + " = " + text + ": " + e.getMessage(), e);
    }
  }

  /**
   * Connects, and waits for the connection.
   *
   * @param address the address
   * @param subscriberId label of the streams
   * @param attributes what only the transport knows
   * @param runtime the runtime
   * @return the source; close it
   * @throws InputException if the address is malformed
   * @throws FailureException if it cannot be reached
   */
  static ConnectedSource connect(
      URI address, String subscriberId, Map<String, Object> attributes, RelayRuntime runtime) {
    ConnectOptions options =
        ConnectOptions.defaults(runtime).withSubscriberId(subscriberId).with(attributes);
    try {
      return RelayTransports.connect(address, options).toCompletableFuture().join();
    } catch (CompletionException e) {
      throw explain(address, e);
    } catch (IllegalArgumentException e) {
      // Credentials are files until the transport reads them as certificates and keys.
      throw new InputException(address + ": " + e.getMessage(), e);
    }
  }

  private static RuntimeException explain(URI address, CompletionException wrapped) {
    if (!(wrapped.getCause() instanceof RelayException failure)) {
      return wrapped;
    }
    return switch (failure.reason()) {
      case INVALID_CONFIGURATION -> new InputException(failure.getMessage(), failure);
      default -> FailureException.of(address, failure);
    };
  }
}
