package io.kvrelay.api.transport;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import java.net.URI;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Finds transports on the class path or module path by URI scheme. Thread safe. */
public final class RelayTransports {
  private RelayTransports() {}

  /**
   * The transport that serves an address.
   *
   * @param address an address with a scheme
   * @return the transport
   * @throws RelayException with {@code ADDRESS_UNAVAILABLE} if no transport has the scheme; the
   *     message lists those found
   */
  public static RelayTransport forAddress(URI address) {
    String scheme = address.getScheme() == null ? "" : address.getScheme().toLowerCase(Locale.ROOT);
    TreeSet<String> found = new TreeSet<>();
    for (RelayTransport transport :
        ServiceLoader.load(RelayTransport.class, RelayTransport.class.getClassLoader())) {
      if (transport.scheme().equals(scheme)) {
        return transport;
      }
      found.add(transport.scheme());
    }
    throw new RelayException(
        RelayErrorReason.ADDRESS_UNAVAILABLE,
        "address = " + address + ": no transport for scheme \"" + scheme + "\", found " + found);
  }

  /**
   * Serves a source; see {@link RelayTransport#export}.
   *
   * @param source the source
   * @param address the address
   * @param options the settings
   * @return the export
   */
  public static RelayExport export(
      RelayPublicationSource source, URI address, ExportOptions options) {
    return forAddress(address).export(source, address, options);
  }

  /**
   * Connects to a source; see {@link RelayTransport#connect}. A missing transport fails the stage.
   *
   * @param address the address
   * @param options the settings
   * @return a stage with the source
   */
  public static CompletionStage<ConnectedSource> connect(URI address, ConnectOptions options) {
    try {
      return forAddress(address).connect(address, options);
    } catch (RelayException e) {
      return CompletableFuture.failedFuture(e);
    }
  }
}
